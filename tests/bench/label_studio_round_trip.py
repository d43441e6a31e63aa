"""The round trip through a real Label Studio: our tasks and config in, two people's annotations, its exports out.

What belongs here: one run by hand against a server that was started for it, which writes the fixtures of
tests/labels/data/label_studio. What does not: what the fixtures are to give (tests/labels/test_label_studio.py).
Label Studio is no dependency: tests/labels/data/README.md says how to start one. All is said to the server by its
HTTP API, but for two tasks of which one is labelled and one skipped in its page by a headless Chromium (--browser).
"""

import argparse
import json
import os
import re
import secrets
import time
from pathlib import Path
from typing import Any

import httpx

from toolsel_assets.labels.answer_files import read_answers
from toolsel_assets.labels.label_studio import State, export_tasks, labelling_config
from toolsel_assets.vocabulary.problem import BadInput

ROOT = Path(__file__).resolve().parents[2]
AIRLINE = ROOT / "toolsel_assets" / "examples" / "airline"
FIXTURES = ROOT / "tests" / "labels" / "data" / "label_studio"
VERSION = "v1"
NO_TOOL = "(no tool)"
#: A second run meets a server that has a Ben already.
BEN = r"ben\.[0-9a-f]{6}@example\.com"
#: (conversation, length of its prefix): what the agent saw before it spoke or called.
PREFIXES = ((0, 2), (0, 6), (1, 4), (2, 6), (3, 8))


def states() -> list[State]:
    """Take five real states of the airline example."""
    runs = json.loads((AIRLINE / "traces" / "gpt-4o-airline.json").read_text(encoding="utf-8"))
    catalogue = json.loads((AIRLINE / "catalogues" / "airline.json").read_text(encoding="utf-8"))
    tools = tuple(tool["name"] for tool in catalogue["tools"])
    found = []
    for run, n in PREFIXES:
        policy, *said = runs[run]["traj"][:n]
        # The first paragraphs of the policy stand for all of it, so that the fixtures stay small.
        found.append(State(f"airline:{run}:{n}", [{**policy, "content": policy["content"][:300]}, *said], tools))
    return found


def choices(name: str, *values: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": "dialogue", "type": "choices", "value": {"choices": list(values)}}


def text(name: str, value: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": "dialogue", "type": "textarea", "value": {"text": [value]}}


class Person:
    """A user of the server, with a token or as a browser has it."""

    def __init__(self, url: str, token: str | None = None) -> None:
        headers = {"Authorization": f"Token {token}"} if token else {}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=120, follow_redirects=True)

    def sign_up(self, email: str, password: str) -> None:
        self.http.get("/user/signup/").raise_for_status()
        form = {"email": email, "password": password, "csrfmiddlewaretoken": self.http.cookies["csrftoken"]}
        form |= {"allow_newsletters": "false", "how_find_us": "", "elaborate": ""}
        self.http.post("/user/signup/", data=form, headers={"Referer": str(self.http.base_url)}).raise_for_status()

    def post(self, path: str, body: Any, method: str = "POST") -> Any:
        headers = {"Referer": str(self.http.base_url)}
        if "csrftoken" in self.http.cookies:
            headers["X-CSRFToken"] = self.http.cookies["csrftoken"]
        answer = self.http.request(method, path, json=body, headers=headers)
        if answer.is_error:
            raise SystemExit(f"{path}: {answer.status_code}: {answer.text[:500]}")
        return answer.json()

    def annotate(self, task: int, *result: dict[str, Any], skip: bool = False) -> int:
        body = {"result": list(result), "was_cancelled": skip, "lead_time": 12.5}
        return int(self.post(f"/api/tasks/{task}/annotations/" + ("?was_cancelled=1" if skip else ""), body)["id"])


def export(ada: Person, project: int, form: str, target: Path) -> None:
    """Download an export and keep it as it is, but for indentation."""
    answer = ada.http.get(f"/api/projects/{project}/export", params={"exportType": form, "download_all_tasks": "true"})
    answer.raise_for_status()
    body = answer.text if form == "CSV" else json.dumps(answer.json(), ensure_ascii=False, indent=1) + "\n"
    target.write_text(re.sub(BEN, "ben@example.com", body), encoding="utf-8")


def snapshot(ada: Person, project: int, target: Path) -> None:
    """Download the other kind of export, with users, drafts and predictions in full."""
    whole = {"only_id": False}
    options = {"annotations__completed_by": whole, "drafts": whole, "predictions": whole}
    made = ada.post(f"/api/projects/{project}/exports/", {"title": "whole", "serialization_options": options})
    path = f"/api/projects/{project}/exports/{made['id']}"
    while ada.http.get(path).json()["status"] not in ("completed", "failed"):
        time.sleep(0.5)
    answer = ada.http.get(f"{path}/download", params={"exportType": "JSON"}).raise_for_status()
    body = json.dumps(answer.json(), ensure_ascii=False, indent=1) + "\n"
    target.write_text(re.sub(BEN, "ben@example.com", body), encoding="utf-8")


def label_in_browser(
    url: str, email: str, password: str, project: int, chromium: str, shots: Path, answered: State, skipped: State
) -> None:
    """Answer every question but the last two in Label Studio's own page, then skip the next task.

    What is typed is submitted without the button "Add" beside it, as a person in a hurry would.
    """
    from playwright.sync_api import sync_playwright

    shots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 2400})
        page.goto(f"{url}/user/login/")
        page.fill("input[name=email]", email)
        page.fill("input[name=password]", password)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda at: "login" not in at, timeout=60_000)
        # Not by a click on the task in the list: there everybody sees what the others have answered.
        page.goto(f"{url}/projects/{project}/data")
        page.get_by_text("Label All Tasks").click(timeout=60_000)
        page.get_by_text(f"state {answered.id}").wait_for(timeout=120_000)
        page.screenshot(path=shots / "before.png")
        for name in ("transfer_to_human_agents", NO_TOOL, "clarify"):
            page.locator(f'input[name="{name}"]').first.check(force=True)
        # The second list of tools is that of the forbidden ones.
        page.locator('input[name="book_reservation"]').nth(1).check(force=True)
        page.screenshot(path=shots / "chosen.png")
        page.locator("textarea[name=args]").fill('transfer_to_human_agents: {"summary": "no reservation id"}')
        page.locator("textarea[name=reason]").fill("no id to go on with\n(no tool): the user id would do")
        page.locator('[data-testid="select-trigger"]').click()
        page.screenshot(path=shots / "select.png")
        page.get_by_test_id("select-option-label").get_by_text("transfer_to_human_agents", exact=True).click()
        page.screenshot(path=shots / "filled.png")
        page.get_by_test_id("bottombar-submit-button").click()
        page.get_by_text(f"state {skipped.id}").wait_for(timeout=60_000)
        page.wait_for_timeout(2_000)
        page.screenshot(path=shots / "submitted.png")
        page.get_by_role("button", name="Skip").click()
        page.wait_for_timeout(5_000)
        page.screenshot(path=shots / "skipped.png")
        browser.close()


def main() -> None:
    """Run the round trip."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default=os.environ.get("LABEL_STUDIO_URL", "http://127.0.0.1:8099"))
    parser.add_argument("--token", default=os.environ.get("LABEL_STUDIO_TOKEN"), help="of the user ada@example.com")
    parser.add_argument("--out", type=Path, default=FIXTURES)
    parser.add_argument("--browser", help="path of a Chromium, to label one task in the page; needs playwright")
    parser.add_argument("--shots", type=Path, default=Path("shots"), help="folder of the page's screenshots")
    options = parser.parse_args()
    if not options.token:
        parser.error("--token or LABEL_STUDIO_TOKEN")

    ada, ben = Person(options.url, options.token), Person(options.url)
    email, password = f"ben.{secrets.token_hex(3)}@example.com", secrets.token_hex(10)
    ben.sign_up(email, password)
    # With 1, the default, the queue gives a task to one person only.
    body = {"title": "airline v1", "label_config": labelling_config(VERSION), "maximum_annotations": 2}
    made = ada.post("/api/projects/", body)
    project = made["id"]
    ada.post(f"/api/projects/{project}/import?return_task_ids=true", export_tasks(states(), VERSION))
    listed = ada.http.get("/api/tasks/", params={"project": project, "page_size": 100, "fields": "all"}).json()
    task_of = {task["data"]["decision_id"]: task["id"] for task in listed["tasks"]}
    first, second, third, fourth, fifth = (task_of[state.id] for state in states())

    # One action each; the server's JSON_MIN turns these sets into bare text.
    ada.annotate(first, choices("valid", NO_TOOL), choices("reply", "clarify"), text("reason", "no user id yet"))
    ben.annotate(first, choices("valid", NO_TOOL, "get_user_details"), choices("reply", "clarify", "answer"))
    # The result of a skip may hold what was chosen before it.
    ada.annotate(third, choices("valid", "think"), skip=True)
    # The same answer twice.
    ada.annotate(fourth, choices("valid", "search_direct_flight", "search_onestop_flight"))
    ada.annotate(fourth, choices("valid", "search_direct_flight", "search_onestop_flight"))
    ben.annotate(fourth, choices("valid", NO_TOOL))
    last = ada.annotate(fifth, choices("valid", NO_TOOL), choices("reply", "answer"))
    ben.annotate(fifth, choices("valid", NO_TOOL), choices("reply", "answer"))
    # The tasks that are left to Ben, as the queue gives them: one to be answered, one to be skipped and answered later.
    # It gives those with most annotations first and draws among equals; so Ada's answer to the second comes after.
    if options.browser:
        answered, skipped = states()[2], states()[1]
        label_in_browser(options.url, email, password, project, options.browser, options.shots, answered, skipped)
    else:
        ben.annotate(third, choices("valid", NO_TOOL))
        ben.annotate(second, skip=True)
    ada.annotate(
        second,
        choices("valid", "get_user_details", "think"),
        choices("preferred", "think"),
        choices("forbidden", "book_reservation"),
        text("args", 'get_user_details: {"user_id": "mia_li_3668"}'),
        choices("unsure", "yes"),
        text("note", "either order"),
    )
    ben.annotate(second, choices("valid", "get_user_details"))
    prediction = {"task": first, "model_version": "none", "result": [choices("valid", "think")]}
    ada.post("/api/predictions/", prediction)
    ada.post(f"/api/tasks/{first}/drafts", {"result": [choices("valid", "cancel_reservation")], "lead_time": 3})

    export(ada, project, "JSON", options.out / "export.json")
    export(ada, project, "JSON_MIN", options.out / "export.json_min.json")
    export(ada, project, "CSV", options.out / "export.csv")
    snapshot(ada, project, options.out / "snapshot.json")
    # A second answer of Ben's that is not his first one, and names that no catalogue has: the server takes all of it.
    ben.annotate(fourth, choices("valid", "think"))
    ada.post(f"/api/annotations/{last}/", {"result": [choices("valid", "null", "thinks")]}, method="PATCH")
    ben.annotate(fifth, choices("valid"))
    export(ada, project, "JSON", options.out / "refused.json")

    tools = {state.id: frozenset(state.tools) for state in states()}
    document = json.loads((options.out / "export.json").read_text(encoding="utf-8"))
    people = sorted({one["completed_by"] for task in document for one in task["annotations"]})
    users = dict(zip(map(str, people), ("ada", "ben"), strict=True))
    print("users:", users)
    (options.out / "users.json").write_text(json.dumps(users) + "\n", encoding="utf-8")
    for answer in read_answers(options.out / "export.json", tools, users=users, version=VERSION):
        print(answer.model_dump_json(exclude_defaults=True))
    for name in ("export.json_min.json", "export.csv", "refused.json"):
        try:
            read_answers(options.out / name, tools, users=users, version=VERSION)
            print(f"{name}: READ, and should not be")
        except BadInput as error:
            print(error)


if __name__ == "__main__":
    main()

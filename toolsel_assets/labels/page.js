"use strict";
// One state on the screen at a time. Everything from the traces is shown through textContent, never as markup.
// What is kept of a state: entries [{tool, reply, args, reason, required}], forbidden, note, skipped, unsure, seconds, at.
const DATA = JSON.parse(document.getElementById("data").textContent);
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,79}$/;
const LONG = 1200;
const $ = (id) => document.getElementById(id);
let answers = {};
let at = 0;
let shownSince = performance.now();
let canStore = true;

function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const pressed = (button, is) => button.setAttribute("aria-pressed", String(Boolean(is)));
const state = () => DATA.states[at];
const tools = () => DATA.catalogues[state().catalogue];
const blank = () => ({ entries: [], forbidden: [], note: "", skipped: false, unsure: false, seconds: 0, at: null });
const answer = () => (answers[state().id] ??= blank());
const labeller = () => $("name").value.trim();
const key = (name) => `toolsel:${DATA.version}:${DATA.states_hash}:${name}`;

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").className = bad ? "bad" : "";
}

// --- what an answer means ---------------------------------------------------------------------------------------

function parsedArgs(entry) {
  if (!entry.args.trim()) return { value: null };
  try {
    const value = JSON.parse(entry.args);
    const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
    return isObject ? { value } : { problem: "must be a JSON object, such as {\"id\": 1}" };
  } catch (error) {
    return { problem: `not JSON: ${error.message}` };
  }
}

function problemsOf(one) {
  if (one.skipped) return [];
  const found = [];
  const names = new Set(one.entries.map((entry) => entry.tool));
  for (const tool of one.forbidden) if (names.has(tool)) found.push(`${tool} is both acceptable and forbidden`);
  if (names.has(null) && one.entries.some((entry) => entry.required)) found.push("no tool and a required call contradict each other");
  for (const entry of one.entries) {
    const { problem } = entry.tool === null ? {} : parsedArgs(entry);
    if (problem) found.push(`arguments of ${entry.tool}: ${problem}`);
  }
  const seen = new Set();
  for (const entry of one.entries) {
    const same = JSON.stringify([entry.tool, entry.reply, entry.tool === null ? "" : parsedArgs(entry).value ?? entry.args.trim()]);
    if (seen.has(same)) found.push(`${entry.tool ?? "no tool"} stands there twice`);
    seen.add(same);
  }
  if (!one.entries.length && one.forbidden.length) found.push("no acceptable action yet");
  return found;
}

const isDone = (one) => Boolean(one && (one.skipped || (one.entries.length && !problemsOf(one).length)));

function exported(id, one) {
  const line = { id, labelled_by: [labeller()] };
  if (one.skipped) line.skipped = true;
  else {
    line.valid_actions = one.entries.map((entry) => {
      const action = { tool: entry.tool };
      const args = entry.tool === null ? null : parsedArgs(entry).value;
      if (args !== null) action.args = args;
      if (entry.reason.trim()) action.reason = entry.reason.trim();
      if (entry.tool === null && entry.reply) action.reply = entry.reply;
      if (entry.required) action.required = true;
      if (entry.repeat) action.repeat = true;
      return action;
    });
    line.forbidden_actions = one.forbidden;
  }
  if (one.unsure) line.unsure = true;
  if (one.note.trim()) line.note = one.note.trim();
  if (one.at) line.labelled_at = one.at;
  line.seconds = Math.round(one.seconds * 10) / 10;
  return line;
}

function imported(line) {
  const entries = (line.valid_actions ?? []).map((action) => ({
    tool: action.tool ?? null,
    reply: action.reply ?? "",
    args: action.args ? JSON.stringify(action.args, null, 1) : "",
    reason: action.reason ?? "",
    required: Boolean(action.required),
    repeat: Boolean(action.repeat),
  }));
  return {
    ...blank(), entries, forbidden: line.forbidden_actions ?? [], note: line.note ?? "", skipped: Boolean(line.skipped),
    unsure: Boolean(line.unsure), seconds: line.seconds ?? 0, at: line.labelled_at ?? null,
  };
}

// --- keeping ----------------------------------------------------------------------------------------------------

function keep() {
  if (!NAME.test(labeller())) return;
  try {
    localStorage.setItem(key(labeller()), JSON.stringify(answers));
    localStorage.setItem(key(""), labeller());
  } catch {
    if (canStore) say("This browser keeps nothing of this page: export before you close it.", true);
    canStore = false;
  }
}

function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(key(name)) ?? "null");
  } catch {
    canStore = false;
    return null;
  }
}

function lastName() {
  try {
    return localStorage.getItem(key("")) ?? "";
  } catch {
    canStore = false;
    return "";
  }
}

function countTime() {
  if (!document.hidden && answers[state().id]) answer().seconds += (performance.now() - shownSince) / 1000;
  shownSince = performance.now();
}

function changed(change) {
  if (!NAME.test(labeller())) {
    say("Enter your name first: every answer carries it.", true);
    $("name").focus();
    return;
  }
  change(answer());
  const one = answer();
  one.at = new Date().toISOString();
  countTime();
  keep();
  showAnswer();
}

// --- showing ----------------------------------------------------------------------------------------------------

function textOf(content) {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((part) => (part && part.type === "text" ? part.text : JSON.stringify(part))).join("\n");
  return JSON.stringify(content, null, 1);
}

function shortened(text) {
  const shown = make("div", { className: "text" }, text.length > LONG ? `${text.slice(0, LONG)} …` : text);
  if (text.length <= LONG) return [shown];
  const more = make("button", { type: "button", onclick: () => { shown.textContent = text; more.remove(); } }, `Show all ${text.length} characters`);
  return [shown, more];
}

function shownMessage(message) {
  const role = String(message.role ?? "message");
  const names = { user: "User", assistant: "Agent", tool: "Tool result", system: "Instructions", developer: "Instructions" };
  const box = make("article", { className: `message ${role}` });
  box.append(make("h3", {}, `${names[role] ?? role}${message.name ? ` · ${message.name}` : ""}`));
  const text = textOf(message.content);
  if (role === "system" || role === "developer") {
    box.append(make("details", {}, make("summary", {}, `${text.length} characters`), make("div", { className: "text" }, text)));
  } else if (text) box.append(...shortened(text));
  for (const call of message.tool_calls ?? []) {
    const called = call.function ?? call;
    const args = typeof called.arguments === "string" ? called.arguments : JSON.stringify(called.arguments ?? {});
    box.append(make("pre", {}, `→ ${called.name}(${args})`));
  }
  return box;
}

function showState(focus = true) {
  const one = state();
  shownSince = performance.now();
  $("state-title").textContent = `State ${at + 1} of ${DATA.states.length}${one.slice === "existing" ? "" : ` · ${one.slice}`}`;
  $("dialogue").replaceChildren(...one.messages.map(shownMessage));
  $("search").value = "";
  showCatalogue();
  showAnswer();
  $("previous").disabled = at === 0;
  $("next").disabled = at === DATA.states.length - 1;
  if (focus) $("state-title").focus({ preventScroll: true });
  $("dialogue").lastElementChild?.scrollIntoView({ block: "nearest" });
}

function showCatalogue() {
  const rows = [{ name: null, description: "Call nothing: write to the user, or stop.", effect: "" }, ...tools()].map((tool) => {
    const label = tool.name ?? "no tool";
    const line = make("div", { className: "line" }, make("button", { type: "button", className: "accept", onclick: () => toggle(tool.name) }, label));
    if (tool.effect && tool.effect !== "unknown") line.append(make("span", { className: "quiet" }, tool.effect));
    const row = make("li", {}, line, make("p", {}, tool.description));
    row.dataset.tool = tool.name ?? "";
    if (tool.name !== null) {
      line.append(make("button", { type: "button", className: "forbid", "aria-label": `forbid ${label}`, onclick: () => forbid(tool.name) }, "forbid"));
      row.append(make("details", {}, make("summary", {}, "arguments"), make("pre", {}, JSON.stringify(tool.schema, null, 1))));
    }
    return row;
  });
  $("catalogue").replaceChildren(...rows);
}

function filterCatalogue() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const row of $("catalogue").children) {
    const text = `${row.dataset.tool} ${row.querySelector("p").textContent} ${row.dataset.tool ? "" : "no tool"}`.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    n += row.hidden ? 0 : 1;
  }
  say(words.length ? `${n} actions found` : "");
}

function entryRow(entry, place) {
  const name = entry.tool ?? "no tool";
  const row = make("li", {});
  const line = make("div", { className: "bar" }, make("span", { className: "name" }, name), make("span", { className: "grow" }));
  const put = (step) => changed((one) => one.entries.splice(place + step, 0, ...one.entries.splice(place, 1)));
  if (place > 0) line.append(make("button", { type: "button", "aria-label": `prefer ${name}`, onclick: () => put(-1) }, "↑"));
  line.append(make("button", { type: "button", "aria-label": `remove ${name}`, onclick: () => changed((one) => one.entries.splice(place, 1)) }, "remove"));
  row.append(line);
  const edit = (field) => (event) => quietly((one) => { one.entries[place][field] = event.target.value; });
  if (entry.tool === null) {
    const reply = make("select", { onchange: (event) => changed((one) => { one.entries[place].reply = event.target.value; }) });
    for (const kind of ["", ...DATA.replies]) reply.append(make("option", { value: kind, selected: kind === entry.reply }, kind || "not said"));
    row.append(make("label", {}, "kind of message ", reply));
    row.append(make("button", { type: "button", onclick: () => add(null) }, "another kind of message"));
  } else {
    const args = make("textarea", { rows: entry.args ? 3 : 1, spellcheck: false, value: entry.args, oninput: edit("args"), placeholder: "any; or a JSON object" });
    row.append(make("label", {}, "arguments ", args));
    const box = make("input", { type: "checkbox", checked: entry.required, onchange: () => changed((one) => { one.entries[place].required = !entry.required; }) });
    row.append(make("label", {}, box, "required among parallel calls"));
    row.append(make("button", { type: "button", onclick: () => add(entry.tool) }, "other arguments as well"));
  }
  row.append(make("label", {}, "reason ", make("input", { value: entry.reason, autocomplete: "off", oninput: edit("reason") })));
  return row;
}

function showAnswer() {
  const one = answers[state().id] ?? blank();
  $("chosen").replaceChildren(...one.entries.map(entryRow));
  $("note").value = one.note;
  showMarks();
}

// What changes while somebody types: not the fields themselves, or the cursor would be lost.
function showMarks() {
  const one = answers[state().id] ?? blank();
  $("none-chosen").hidden = one.entries.length > 0 || one.skipped;
  $("forbidden").textContent = one.forbidden.join(", ");
  $("forbidden-line").hidden = !one.forbidden.length;
  $("problems").replaceChildren(...problemsOf(one).map((problem) => make("li", {}, problem)));
  pressed($("skip"), one.skipped);
  pressed($("unsure"), one.unsure);
  for (const row of $("catalogue").children) {
    const tool = row.dataset.tool || null;
    pressed(row.querySelector(".accept"), one.entries.some((entry) => entry.tool === tool));
    if (tool !== null) pressed(row.querySelector(".forbid"), one.forbidden.includes(tool));
  }
  const all = DATA.states.map((each) => answers[each.id]);
  const done = all.filter(isDone).length;
  const skipped = all.filter((each) => each?.skipped).length;
  $("progress").value = done;
  $("counts").textContent = `${done} of ${DATA.states.length} done${skipped ? `, ${skipped} skipped` : ""}`;
}

// --- acting -----------------------------------------------------------------------------------------------------

function quietly(change) {
  if (!NAME.test(labeller())) { changed(() => {}); return; }
  change(answer());
  answer().at = new Date().toISOString();
  countTime();
  keep();
  showMarks();
}

function add(tool) {
  changed((one) => {
    one.skipped = false;
    one.entries.push({ tool, reply: "", args: "", reason: "", required: false, repeat: false });
  });
}

function toggle(tool) {
  const one = answer();
  if (!one.entries.some((entry) => entry.tool === tool)) { add(tool); return; }
  changed((each) => { each.entries = each.entries.filter((entry) => entry.tool !== tool); });
}

function forbid(tool) {
  changed((one) => {
    one.skipped = false;
    one.forbidden = one.forbidden.includes(tool) ? one.forbidden.filter((name) => name !== tool) : [...one.forbidden, tool];
  });
}

function skip() {
  changed((one) => {
    one.skipped = !one.skipped;
    if (one.skipped) { one.entries = []; one.forbidden = []; }
  });
}

function go(place, focus = true) {
  if (place < 0 || place >= DATA.states.length) return;
  countTime();
  keep();
  at = place;
  say("");
  showState(focus);
}

function nextOpen() {
  const order = DATA.states.map((_, step) => (at + 1 + step) % DATA.states.length);
  const found = order.find((place) => !isDone(answers[DATA.states[place].id]));
  if (found === undefined) say("Every state is done: export your answers.");
  else go(found);
}

function download() {
  if (!NAME.test(labeller())) { changed(() => {}); return; }
  countTime();
  const given = DATA.states.filter((one) => isDone(answers[one.id]));
  const open = DATA.states.filter((one) => answers[one.id] && !isDone(answers[one.id]) && (answers[one.id].entries.length || answers[one.id].forbidden.length));
  const lines = given.map((one) => `${JSON.stringify(exported(one.id, answers[one.id]))}\n`);
  const url = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
  make("a", { href: url, download: `${DATA.version}.${labeller()}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  say(`${given.length} answers exported.${open.length ? ` ${open.length} with a contradiction or wrong arguments are not in it.` : ""}`, open.length > 0);
}

async function upload(event) {
  const file = event.target.files[0];
  if (!file) return;
  const text = await file.text();
  event.target.value = "";
  const known = new Set(DATA.states.map((one) => one.id));
  const found = {};
  let name = labeller();
  for (const [place, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    let value;
    try { value = JSON.parse(line); } catch { say(`Nothing was taken over: line ${place + 1} is not JSON.`, true); return; }
    if (!known.has(value?.id)) { say(`Nothing was taken over: line ${place + 1} answers another state, ${value?.id}.`, true); return; }
    const who = value.labelled_by?.[0] ?? "";
    name ||= who;
    if (who !== name) { say(`Nothing was taken over: line ${place + 1} is by ${who}, not by ${name}.`, true); return; }
    found[value.id] = imported(value);
  }
  if (!NAME.test(name)) { say("Nothing was taken over: the file does not say who answered.", true); return; }
  $("name").value = name;
  answers = { ...answers, ...found };
  keep();
  showState(false);
  say(`${Object.keys(found).length} answers taken over.`);
}

function rename() {
  if (!NAME.test(labeller())) { say("A name has letters, digits, _ . @ + - and begins with a letter or digit.", true); return; }
  answers = kept(labeller()) ?? {};
  keep();
  showState(false);
  say(canStore ? `Answers are kept in this browser for ${labeller()}.` : "This browser keeps nothing of this page: export before you close it.", !canStore);
}

function moveInCatalogue(step) {
  const rows = [...$("catalogue").children].filter((row) => !row.hidden);
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const there = rows[Math.min(rows.length - 1, Math.max(0, here + step))];
  there?.querySelector(".accept").focus();
}

function focusedTool() {
  const row = document.activeElement?.closest?.("#catalogue li");
  return row ? row.dataset.tool || null : undefined;
}

function onKey(event) {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if (event.key === "Escape" && typing) { event.target.blur(); return; }
  if (typing && event.target.id === "search" && (event.key === "ArrowDown" || event.key === "Enter")) { event.preventDefault(); moveInCatalogue(1); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const tool = focusedTool();
  const keys = {
    "?": () => $("help").showModal(), "/": () => $("search").select(), 0: () => toggle(null),
    j: () => moveInCatalogue(1), ArrowDown: () => moveInCatalogue(1), k: () => moveInCatalogue(-1), ArrowUp: () => moveInCatalogue(-1),
    n: () => go(at + 1), p: () => go(at - 1), o: nextOpen, s: skip, u: () => changed((one) => { one.unsure = !one.unsure; }),
    x: () => tool && forbid(tool),
    r: () => tool && changed((one) => one.entries.forEach((entry) => { if (entry.tool === tool) entry.required = !entry.required; })),
  };
  // Arrows scroll the page as they do everywhere, except in the catalogue.
  if (!(event.key in keys) || (event.key.startsWith("Arrow") && tool === undefined)) return;
  event.preventDefault();
  keys[event.key]();
}

$("name").addEventListener("change", rename);
$("search").addEventListener("input", filterCatalogue);
$("note").addEventListener("input", (event) => quietly((one) => { one.note = event.target.value; }));
$("skip").addEventListener("click", skip);
$("unsure").addEventListener("click", () => changed((one) => { one.unsure = !one.unsure; }));
$("previous").addEventListener("click", () => go(at - 1));
$("next").addEventListener("click", () => go(at + 1));
$("open-next").addEventListener("click", nextOpen);
$("export").addEventListener("click", download);
$("import").addEventListener("change", upload);
$("help-button").addEventListener("click", () => $("help").showModal());
$("help-close").addEventListener("click", () => $("help").close());
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", () => { if (document.hidden) { if (answers[state().id]) answer().seconds += (performance.now() - shownSince) / 1000; keep(); } shownSince = performance.now(); });
$("name").value = DATA.labeller || lastName();
if (NAME.test(labeller())) answers = kept(labeller()) ?? {};
at = Math.max(0, DATA.states.findIndex((one) => !isDone(answers[one.id])));
showState(false);
if (!canStore) say("This browser keeps nothing of this page: export before you close it.", true);

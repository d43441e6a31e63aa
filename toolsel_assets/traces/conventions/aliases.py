"""Which attribute name stands for which of today's, and which generation of instrumentation writes it: one table.

What belongs here: attributes that were renamed and whose value means the same. What does not: messages, calls and
catalogues, which changed their shape as well (the other modules of this folder).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Alias(NamedTuple):
    """A name that was or is in use, today's name for it, and who writes it."""

    old: str
    new: str
    generation: str


#: Old name, today's name, generation. In order of preference where several old names stand for one of today's.
_TABLE = """
gen_ai.usage.prompt_tokens                     gen_ai.usage.input_tokens              genai-1.26
gen_ai.usage.completion_tokens                 gen_ai.usage.output_tokens             genai-1.26
gen_ai.system                                  gen_ai.provider.name                   genai-1.36
gen_ai.usage.cache_creation.input_tokens       gen_ai.usage.cache_write.input_tokens  genai-1.40
gen_ai.agent.name                              gen_ai.agent.id                        genai-1.40
gen_ai.response.finish_reason                  gen_ai.response.finish_reasons         openllmetry
gen_ai.response.stop_reason                    gen_ai.response.finish_reasons         openllmetry
llm.response.finish_reason                     gen_ai.response.finish_reasons         openllmetry
llm.response.stop_reason                       gen_ai.response.finish_reasons         openllmetry
anthropic.message.stop_reason                  gen_ai.response.finish_reasons         anthropic-sdk
gen_ai.usage.cache_read_input_tokens           gen_ai.usage.cache_read.input_tokens   openllmetry
gen_ai.usage.cache_creation_input_tokens       gen_ai.usage.cache_write.input_tokens  openllmetry
llm.request.model                              gen_ai.request.model                   openllmetry
llm.response.model                             gen_ai.response.model                  openllmetry
llm.vendor                                     gen_ai.provider.name                   openllmetry
llm.usage.prompt_tokens                        gen_ai.usage.input_tokens              openllmetry
llm.usage.completion_tokens                    gen_ai.usage.output_tokens             openllmetry
gen_ai.user                                    user.id                                openllmetry
llm.user                                       user.id                                openllmetry
traceloop.association.properties.user_id       user.id                                openllmetry
traceloop.association.properties.thread_id     gen_ai.conversation.id                 openllmetry
traceloop.association.properties.session_id    gen_ai.conversation.id                 openllmetry
traceloop.association.properties.chat_id       gen_ai.conversation.id                 openllmetry
traceloop.entity.name                          gen_ai.agent.id                        openllmetry
llm.request.model_name                         gen_ai.request.model                   openinference
llm.response.model_name                        gen_ai.response.model                  openinference
llm.model_name                                 gen_ai.response.model                  openinference
llm.provider                                   gen_ai.provider.name                   openinference
llm.system                                     gen_ai.provider.name                   openinference
llm.finish_reason                              gen_ai.response.finish_reasons         openinference
llm.token_count.prompt                         gen_ai.usage.input_tokens              openinference
llm.token_count.completion                     gen_ai.usage.output_tokens             openinference
llm.token_count.prompt_details.cache_read      gen_ai.usage.cache_read.input_tokens   openinference
llm.token_count.prompt_details.cache_write     gen_ai.usage.cache_write.input_tokens  openinference
agent.name                                     gen_ai.agent.id                        openinference
session.id                                     gen_ai.conversation.id                 openinference
ai.model.id                                    gen_ai.request.model                   vercel
ai.model.provider                              gen_ai.provider.name                   vercel
ai.response.model                              gen_ai.response.model                  vercel
ai.response.id                                 gen_ai.response.id                     vercel
ai.response.finishReason                       gen_ai.response.finish_reasons         vercel
ai.finishReason                                gen_ai.response.finish_reasons         vercel-3
ai.usage.inputTokens                           gen_ai.usage.input_tokens              vercel
ai.usage.promptTokens                          gen_ai.usage.input_tokens              vercel-4
ai.usage.outputTokens                          gen_ai.usage.output_tokens             vercel
ai.usage.completionTokens                      gen_ai.usage.output_tokens             vercel-4
ai.usage.inputTokenDetails.cacheReadTokens     gen_ai.usage.cache_read.input_tokens   vercel-6
ai.usage.cachedInputTokens                     gen_ai.usage.cache_read.input_tokens   vercel-5
ai.usage.inputTokenDetails.cacheWriteTokens    gen_ai.usage.cache_write.input_tokens  vercel-6
ai.telemetry.metadata.userId                   user.id                                vercel
ai.telemetry.metadata.sessionId                gen_ai.conversation.id                 vercel
ai.telemetry.metadata.conversationId           gen_ai.conversation.id                 vercel
ai.telemetry.metadata.threadId                 gen_ai.conversation.id                 vercel
ai.telemetry.metadata.chatId                   gen_ai.conversation.id                 vercel
ai.telemetry.functionId                        gen_ai.agent.id                        vercel
"""

#: The table. A name of today's that is there always wins.
ALIASES = tuple(Alias(*row.split()) for row in _TABLE.splitlines() if row)

#: Names outside `gen_ai.` that are today's.
CURRENT = ("user.id", "error.type")

#: Names in `gen_ai.` that hold messages in a shape that is not today's.
_SHAPES = ("gen_ai.prompt", "gen_ai.completion")

_OLD = {alias.old for alias in ALIASES}


def renamed(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Give the attributes that have one of today's names, or a name that stands for one, under today's names.

    Lists and objects that the conventions write as JSON text stay text.
    """
    found = {
        name: value
        for name, value in attributes.items()
        if name in CURRENT or (name.startswith("gen_ai.") and name not in _OLD and not _is_shape(name))
    }
    for alias in ALIASES:
        if alias.new not in found and attributes.get(alias.old) not in (None, ""):
            value = attributes[alias.old]
            found[alias.new] = [value] if alias.new.endswith("finish_reasons") and isinstance(value, str) else value
    return found


def _is_shape(name: str) -> bool:
    return name in _SHAPES or name.startswith(tuple(f"{shape}." for shape in _SHAPES))

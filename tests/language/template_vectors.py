#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes template_vectors.json: chat templates, what goes in, and what Jinja itself (python3-jinja2) makes of them.

  tests/language/template_vectors.py              the templates below
  tests/language/template_vectors.py FILE... -o O  those of tokenizer_config.json files, into O

The environment is set as programs for chat models set it.
"""
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).resolve().parent


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    return made


USER = {"role": "user", "content": "Who mills the grain?"}
CHAT = [{"role": "system", "content": "  You are a miller.\n"}, USER,
        {"role": "assistant", "content": " The stone does. "}, {"role": "user", "content": "And \"when\"?\n<b>"}]
TOOL = {"type": "function", "function": {"name": "weigh", "description": "Weighs é flour", "parameters": {
    "type": "object", "properties": {"kilos": {"type": "number", "minimum": 0.5}}, "required": ["kilos"]}}}
PLAIN = {"messages": CHAT, "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"}
TOOLS = dict(PLAIN, tools=[TOOL], messages=CHAT + [
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "a1", "type": "function", "function": {"name": "weigh", "arguments": {"kilos": 2, "whole": True}}}]},
    {"role": "tool", "tool_call_id": "a1", "content": "2.0"}])
VALUES = {"n": 7, "m": -3, "x": 2.5, "s": "Flour and Grain", "e": "", "l": [3, 1, 2], "d": {"b": 1, "a": [1, "two"]},
          "t": True, "f": False, "z": None, "u": "Žluťoučký kůň 日本", "rows": [
              {"name": "b", "on": True, "k": {"v": 2}}, {"name": "a", "on": False, "k": {"v": 1}}, {"name": "C", "on": True, "k": {}}]}

CHATS = [
    # one line a message, in the form of ChatML
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    # a system message that joins the first of the user
    """{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set rest = messages %}
{%- endif %}
{{- bos_token }}
{%- for m in rest %}
    {%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must take turns') }}
    {%- endif %}
    {%- if m.role == 'user' %}
        {%- if loop.first and system %}
            {{- '[INST] ' + system + '\n\n' + m.content + ' [/INST]' }}
        {%- else %}
            {{- '[INST] ' ~ m.content ~ ' [/INST]' }}
        {%- endif %}
    {%- elif m.role == 'assistant' %}
        {{- ' ' + m.content | trim + eos_token }}
    {%- else %}
        {{- raise_exception('Only user and assistant, not ' + m.role) }}
    {%- endif %}
{%- endfor %}
""",
    # tools, with a namespace and a macro
    """{%- macro describe(tool, depth=0) -%}
{{ '  ' * depth }}- {{ tool.function.name }}: {{ tool.function.description | default('nothing', true) }}
{% for key, value in tool.function.parameters.properties.items() %}
{{ key }} ({{ value.type }}{% if key in tool.function.parameters.required %}, required{% endif %})
{% endfor %}
{%- endmacro -%}
{%- set ns = namespace(last=-1, calls=0) -%}
{%- for m in messages -%}
  {%- if m.role == 'user' and m.content is string -%}{%- set ns.last = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- if tools is defined and tools is not none and tools | length > 0 %}
<tools>
{% for tool in tools %}
{{ tool | tojson }}
{{ describe(tool, depth=1) }}
{% endfor %}
</tools>
{% endif %}
{% for message in messages %}
{% if message.role == 'tool' %}
<result>{{ message.content }}</result>
{% elif message.tool_calls is defined and message.tool_calls %}
{% for call in message.tool_calls %}
{% set ns.calls = ns.calls + 1 %}
<call n="{{ ns.calls }}">{{ {'name': call.function.name, 'arguments': call.function.arguments} | tojson(indent=2) }}</call>
{% endfor %}
{% else %}
<|{{ message['role'] | upper }}|>{{ message.content.strip().split('\n')[0] }}{{ ' (last)' if loop.index0 == ns.last }}
{% endif %}
{% endfor %}
{%- if add_generation_prompt %}<|ASSISTANT|>{% endif %}
""",
    """{# a comment -#}
  {% set names = {'assistant': 'model'} %}
{% for message in messages if message.role != 'system' %}
<start>{{ names.get(message.role, message.role) }}
{{ message.content | replace('"', "'") | trim }}<end>{{ ',' if not loop.last else '.' }}
  {% else %}
nobody
{% endfor %}
""",
    "{% for m in messages %}{% if loop.index > 2 %}{% break %}{% endif %}{% if m.role == 'system' %}{% continue %}{% endif %}"
    "{{ m.content }}|{% endfor %}",
]
SMALL = r"""
a{{ n }}b|{{ n + m }} {{ n - m }} {{ n * m }} {{ n / m }} {{ n // m }} {{ n % m }} {{ m ** 2 }} {{ -n }} {{ x * 2 }} {{ 7 // 2.0 }}
{{ 1 }}{{ 1.0 }}{{ 1e20 }}{{ 0.1 + 0.2 }}{{ 1e-7 }}{{ 123456789012345.0 }}{{ 100000.0 }}{{ 2 ** 0.5 }}{{ 2 ** 10 }}
{{ s[0] }}{{ s[-1] }}{{ s[2:5] }}{{ s[::-1] }}{{ s[:-3] }}{{ s[-3:] }}{{ s[10:2:-2] }}{{ l[::-1] }}{{ l[1:] }}{{ l[-5:2] }}{{ l[5:] }}
{{ l }}{{ d }}{{ t }}{{ f }}{{ z }}{{ [1, 'a', none, 2.0, {'k': "it's"}] }}{{ (1, 2)|list }}
{{ l|length }}{{ s|length }}{{ d|length }}{{ u|length }}{{ l|first }}{{ l|last }}{{ l|sort }}{{ l|sort(reverse=true) }}{{ l|max }}{{ l|min }}{{ l|sum }}
{{ l|join(', ') }}{{ rows|map(attribute='name')|join('-') }}{{ rows|map(attribute='k.v', default=0)|list|length }}{{ ['a','b']|map('upper')|join }}
{{ rows|selectattr('on')|map(attribute='name')|list }}{{ rows|rejectattr('on')|map(attribute='name')|list }}
{{ rows|selectattr('name', 'equalto', 'a')|list|length }}{{ l|select('odd')|list }}{{ l|reject('gt', 2)|list }}{{ [0, 1, '', 'x']|select|list }}
{{ rows|sort(attribute='name')|map(attribute='name')|list }}{{ ['b', 'A', 'c']|sort }}{{ d|dictsort|map('last')|list }}{{ [1, 2, 1, 3]|unique|list }}{{ 'abc'|reverse }}
{{ s|upper }}{{ s|lower }}{{ s|title }}{{ 'hELLO wORLD'|capitalize }}{{ '  x '|trim }}|{{ u|upper }}{{ u|lower }}{{ 'xxaxx'|trim('x') }}
{{ missing }}|{{ missing|default('none') }}{{ e|default('empty') }}|{{ e|default('empty', true) }}{{ d.b|d(5) }}{{ d.q|d(5) }}
{{ d|tojson }}{{ u|tojson }}{{ '"\\\\\n\t\u0001</b>'|tojson }}{{ rows|tojson(indent=2) }}{{ [] |tojson(indent=2) }}{{ {}|tojson }}{{ 1.0|tojson }}{{ z|tojson }}
{{ '3.7'|float }}{{ '42'|int }}{{ 'x'|int }}{{ 'x'|int(5) }}{{ 3.9|int }}{{ -2|abs }}{{ 2.567|round(1) }}{{ 2.5|round|int }}{{ 5|string ~ 'a' }}
{{ 'a' in s }}{{ 'and' in s }}{{ 3 in l }}{{ 9 not in l }}{{ 'b' in d }}{{ not t }}{{ t and f }}{{ e or 'x' }}{{ z or l }}{{ 1 < 2 < 3 }}{{ 1 < 2 > 5 }}{{ 'a' < 'b' }}
{{ n is odd }}{{ n is even }}{{ n is divisibleby 7 }}{{ n is divisibleby(2) }}{{ s is string }}{{ d is mapping }}{{ l is iterable }}{{ l is sequence }}{{ n is number }}{{ x is number }}{{ t is boolean }}
{{ z is none }}{{ z is not none }}{{ missing is defined }}{{ missing is undefined }}{{ n is defined and n is integer }}{{ x is float }}{{ t is true }}{{ f is false }}{{ n is eq 7 }}{{ n is ge 8 }}{{ 'a' is in s }}{{ 'abc' is lower }}
{{ s.startswith('Fl') }}{{ s.endswith(('x', 'Grain')) }}{{ s.split() }}{{ s.split(' ', 1) }}{{ s.replace('F', 'f') }}{{ 'a,b,,c'.split(',') }}{{ '  q'.lstrip() }}{{ 'q--'.rstrip('-') }}|{{ s.find('and') }}{{ s.find('zz') }}{{ 'banana'.count('an') }}
{{ s.upper().lower().title() }}{{ 'line\nline2'.splitlines() }}{{ '12'.isdigit() }}{{ 'x'.join(['1', '2']) if false else 'no join' }}
{{ d.items()|map('first')|list }}{{ d.keys()|list }}{{ d.values()|list }}{{ d.get('b') }}{{ d.get('q') }}{{ d.get('q', 3) }}{% for k, v in d|items %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}
{% for i in range(3) %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.cycle('a', 'b') }}{% if not loop.last %}, {% endif %}{% endfor %}
{% for i in l %}{{ loop.previtem|default('-') }}<{{ i }}>{{ loop.nextitem|default('-') }}{% endfor %}{% for i in [] %}x{% else %}empty{% endfor %}{% for c in 'añb' %}[{{ c }}]{% endfor %}
{% for i in range(2, 10, 3) %}{{ i }} {% endfor %}{% for i in range(3, 0, -1) %}{{ i }}{% endfor %}{{ range(4)|list }}
{% set a = 1 %}{% for i in l %}{% set a = a + i %}{{ a }}{% endfor %}{{ a }}
{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}
{% set block %}  x{{ n }}  {% endset %}[{{ block }}]{% set a, b = 1, 2 %}{{ a }}{{ b }}
{% if n > 5 %}big{% elif n > 3 %}middle{% else %}small{% endif %}{% if e %}1{% elif l %}2{% endif %}{{ 'y' if f }}{{ 'a' if f else 'b' if f else 'c' }}
{% macro m1(a, b='B') %}<{{ a }}{{ b }}>{% endmacro %}{{ m1(1) }}{{ m1(1, 2) }}{{ m1(b='x', a='y') }}{{ m1() }}{{ m1('q')|upper }}
{% raw %}{{ not run }} {% if %}{% endraw %}{{ '{{' }}{{ "}}" }}{{ {'a': {'b': 1}}.a.b }}{{ {'a': 1}['a'] }}
{{ 'con' 'cat' }}{{ "tab\there" }}{{ 'it\'s' }}{{ 'a' * 3 }}{{ 'a' ~ 1 ~ none ~ 2.0 }}{{ [1] + [2, 3] }}{{ true and 1 or 2 }}{{ 1 if true else 2 }}
{{ d['a'][1] }}{{ d.a[0] }}{{ rows[0]['k'].v }}{{ rows[-1].name }}{{ l[0] if l else '-' }}{{ d.missing }}|{{ rows.0.name }}
{{ s|replace('and', '&') }}{{ 'aaa'|replace('a', 'b', 2) }}{{ '<a href="x">'|e }}{{ 'x\ny'|indent(2) }}{{ 'x\ny'|indent(2, true) }}{{ s|safe }}
{% set x = 5 -%}   
   {{- x }}  {%- if true %} y {%- endif +%}
 z{#- gone -#}  w
{% for i in range(3) %}{{ q|default('-') }}{% set q = i %}{% endfor %}
{% for i in range(4) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}
{{ n|default }}{{ l|string }}{{ t|string|lower }}{{ (n > 5)|tojson }}{{ not n > 5 }}{{ -n|abs }}{{ (-n)|abs }}{{ 2 + 3 * 4 - 1 }}{{ (2 + 3) * 4 }}{{ 2 ** 3 ** 2 }}{{ 'a' + 'b'|upper }}
{{ d == {'a': [1, 'two'], 'b': 1} }}{{ 1 == 1.0 }}{{ true == 1 }}{{ '1' == 1 }}{{ l != [3, 1, 2] }}{{ none == missing }}
"""
WRONG = """
{{ raise_exception('no') }}
{{ missing.member }}
{{ s + 1 }}
{{ 1 / 0 }}
{{ n.x.y }}
{% for a, b in [1] %}{% endfor %}
{% if %}{% endif %}
{{ 'open }}
{% for i in l %}
{{ l|nosuchfilter }}
{{ l is nosuchtest }}
{% nosuchblock %}
{{ (1 }}
{% endfor %}
{{ 1 < 'a' }}
"""


def record(source, variables):
    row = {"template": source, "variables": variables}
    try:
        row["text"] = environment().from_string(source).render(**variables)
    except (jinja2.exceptions.TemplateError, TypeError, ValueError, ArithmeticError):
        row["error"] = True
    return row


def own_rows():
    rows = [record(source, variables) for source in CHATS for variables in (PLAIN, TOOLS, {"messages": [USER]})]
    lines = [line for line in SMALL.split("\n") if line]
    rows += [record(line, VALUES) for line in lines]
    rows += [record(part, VALUES) for part in ("\n" + SMALL + "\n\n", "x\r\n{% if t %}\r\n  y\r\n{% endif %}\r\nz\r\n")]
    rows += [record(line, VALUES) for line in WRONG.split("\n") if line]
    return rows


def main(arguments):
    if not arguments:
        text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in own_rows())
        (HERE / "template_vectors.json").write_text(f"[\n{text}\n]\n")
        return
    rows = []
    for path in arguments[:arguments.index("-o")]:
        source = json.loads(pathlib.Path(path).read_text())["chat_template"]
        for one in [source] if isinstance(source, str) else [s["template"] for s in source]:
            rows += [record(one, variables) for variables in (PLAIN, TOOLS, {"messages": [USER], "bos_token": "<s>"},
                                                              dict(PLAIN, messages=CHAT[1:]), dict(PLAIN, enable_thinking=False))]
    pathlib.Path(arguments[arguments.index("-o") + 1]).write_text(json.dumps(rows))


main(sys.argv[1:])

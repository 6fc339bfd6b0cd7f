"""A small site of a page that has each form, with its notebook, script and Markdown."""

from __future__ import annotations

from pathlib import Path

from site_builder import CONF, Build, build, small_site

BASE = "https://example.org/en/"
SETTINGS = f'''
extensions += ["shardlessons.sphinxext.downloads"]
html_baseurl = "{BASE}"
html_title = "Small"
numfig = True
myst_heading_anchors = 3
'''
PAGE = r"""
# A *small* page

```{toctree}
:caption: The rest
other
```

The sum is {check}`7 <3 + 4>`, a {term}`number`;
not_bold, 2 * 3 * 4, \<b> and \[a](b) are text.
See [the other page](other.md#part) and {ref}`below <table>`.

```{code-cell} python
import json
from pathlib import Path

class Picture:
    def __repr__(self): return "a square"
    def _repr_html_(self): return "<svg></svg>"

picture = Picture()
print(Path("helper.py").suffix)
```

```{expect}
.py
```

```{code-cell} python
---
mystnb:
  figure:
    name: square
    caption: |
      It has {check}`4 <2 + 2>` sides.
---
x = 1
picture
```

```{expect}
a square
```

```{eval:figure} picture
:name: again
The same again.
```

```{code-cell} python
:tags: [raises-exception]
print("before")
json.loads("")
```

```{expect}
before
JSONDecodeError: Expecting value: line 1 column 1 (char 0)
```

:::{table} Bars and numbers
:name: table

| a | b |
|---|--:|
| `x \| y` | {check}`5 <2 + 3>` |
:::

:::{note}
One line.

- A list with {notation}`P()`.
:::

1. First.

   ```{notation} text
   a block
   ```
2. Second, with {download}`helper.py`.

::::{grid} 1 2 2 2

:::{grid-item-card} A card
:link: other
:link-type: doc
Its text.
:::

:::{grid-item-card} Another
Its text.
:::
::::

:::{question} How much is `1 + 1`?
Two.

```pycon
>>> 1 + 1
2
```
:::

:::{glossary}
number
  What counts.
:::
"""
OTHER = """\
---
myst:
  html_meta:
    description: What the other page says.
---

# The other page

## Part

Text.
"""
MARKDOWN = """\
# A *small* page

From <https://example.org/en/index.html>.

**The rest**

- [The other page](https://example.org/en/other.html)

  - [Part](https://example.org/en/other.html#part)

The sum is 7, a number;
not_bold, 2 \\* 3 \\* 4, \\<b> and [a\\](b) are text.
See [the other page](https://example.org/en/other.html#part) and [below](https://example.org/en/index.html#table).

```python
import json
from pathlib import Path

class Picture:
    def __repr__(self): return "a square"
    def _repr_html_(self): return "<svg></svg>"

picture = Picture()
print(Path("helper.py").suffix)
```

```text
.py
```

```python
x = 1
picture
```

```text
a square
```

**Fig. 1** It has 4 sides.

```python
picture
```

```text
a square
```

**Fig. 2** The same again.

```python
print("before")
json.loads("")
```

```text
before
```

```text
JSONDecodeError: Expecting value: line 1 column 1 (char 0)
```

**Table 1** Bars and numbers

| a | b |
| --- | ---: |
| `x \\| y` | 5 |

> **Note**
>
> One line.
>
> - A list with `P()`.

1. First.

   ```text
   a block
   ```

2. Second, with [`helper.py`](https://example.org/en/_downloads/HASH/helper.py).

- [A card](https://example.org/en/other.html)
  Its text.
- Another
  Its text.

**How much is `1 + 1`?**

Two.

```pycon
>>> 1 + 1
2
```

- **number**: What counts.

7 facts
"""


def make(folder: Path, builder: str = "html", settings: str = SETTINGS) -> Build:
    docs = small_site(folder, PAGE, other=OTHER)
    (docs / "conf.py").write_text(CONF + settings, "utf-8")
    (docs / "helper.py").write_text('"""Has \'quotes\' and \\n."""\nimport json\n')
    built = build(docs, folder / "out", "-b", builder)

    assert [] == built.said
    assert "" == built.stderr
    return built


def text(built: Build, name: str) -> str:
    return (built.out / name).read_text("utf-8")

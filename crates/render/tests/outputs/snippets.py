"""What `make.py` executes. A line that begins with `#:` names the file that the following snippet's outputs go to."""

#: setup
import sys, time, warnings
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
from IPython.display import *
%matplotlib inline
rng = np.random.default_rng(7)

#: result_number
print("sum:")
2 ** 100

#: pandas_series
pd.Series([1.5, 2.25, None], index=["a", "b", "c"], name="price")

#: pandas_frame
frame = pd.DataFrame({"city": ["Köln", "São Paulo", "a | b"], "population": [1_087_000, 12_330_000, None], "founded": pd.to_datetime(["1938-01-01", "1954-01-25", None])})
frame

#: pandas_long
pd.DataFrame({"x": np.arange(500), "square": np.arange(500) ** 2, "root": np.sqrt(np.arange(500))})

#: pandas_wide
pd.DataFrame(rng.normal(size=(4, 40)).round(3), columns=[f"feature_{i}" for i in range(40)])

#: pandas_multiindex
index = pd.MultiIndex.from_product([["2023", "2024"], ["Q1", "Q2"]], names=["year", "quarter"])
columns = pd.MultiIndex.from_product([["sales", "costs"], ["EU", "US"]])
pd.DataFrame(np.arange(16).reshape(4, 4), index=index, columns=columns)

#: pandas_spaces
import io
display(pd.read_csv(io.StringIO("Order Date , Region,n\n2024-01-02,SOUTH ,1\n2024-01-03,NORTH,22\n")))
display(pd.DataFrame({f"measurement {n}": ["x  y", " z", "w "] for n in range(9)} | {"last ": [1, 2, 3]}))
pd.DataFrame({"first ": ["a ", "bc"], "b\xa0c": [1.5, -2]}).style.hide(axis="index")

#: pandas_describe
pd.DataFrame(rng.normal(size=(100, 5)), columns=list("abcde")).describe()

#: pandas_styler
frame.style.format({"population": "{:,.0f}"}).highlight_max(subset=["population"])

#: pandas_all_rows
with pd.option_context("display.max_rows", None):
    display(pd.DataFrame({"number": np.arange(900), "cube": np.arange(900) ** 3, "text": ["x" * 90] * 900}))

#: polars_frame
import polars as pl
pl.DataFrame({"name": ["a", "b"], "value": [1.5, None]})

#: matplotlib_png
fig, ax = plt.subplots()
ax.plot([1, 2, 3], [1, 4, 9], label="squares")
ax.legend()
plt.show()

#: matplotlib_large
fig, ax = plt.subplots(figsize=(10, 6), dpi=300)
ax.plot([1, 2, 3], [1, 4, 9])
plt.show()

#: matplotlib_svg
from matplotlib_inline.backend_inline import set_matplotlib_formats
set_matplotlib_formats("svg")
fig, ax = plt.subplots()
ax.bar(["apples", "pears"], [3, 5])
ax.set(title="Fruit & veg", ylabel="count")
plt.show()
set_matplotlib_formats("png")

#: many_figures
for i in range(6):
    plt.figure(figsize=(2, 1.5))
    plt.plot(np.arange(5) * i)
    plt.title(f"figure {i}")
    plt.show()
print("done: 6 figures")

#: image_jpeg
from PIL import Image as Pillow
import io
def encoded(format, size=(320, 200), **options):
    ramp = np.add.outer(np.arange(size[1]), np.arange(size[0])) % 256
    picture = Pillow.fromarray(np.stack([ramp, ramp // 2, 255 - ramp], -1).astype("uint8"))
    buffer = io.BytesIO()
    picture.save(buffer, format, **options)
    return buffer.getvalue()
Image(encoded("JPEG"), format="jpeg")

#: image_gif
Image(encoded("GIF", (60, 40)), format="gif")

#: image_webp
display({"image/webp": __import__("base64").b64encode(encoded("WEBP")).decode()}, raw=True)

#: image_pillow
Pillow.fromarray((rng.random((48, 64, 4)) * 255).astype("uint8"))

#: image_broken
display({"image/png": "aGVsbG8=", "text/plain": "<Broken>"}, raw=True)

#: plotly_scatter
import plotly.io as pio, plotly.express as px, plotly.graph_objects as go
pio.renderers.default = "plotly_mimetype"
pio.templates.default = "none"
px.scatter(x=np.linspace(0, 9, 40), y=np.linspace(0, 9, 40) ** 2, color=["low"] * 20 + ["high"] * 20, labels={"x": "time", "y": "distance"}, title="A fall").show()

#: plotly_mixed
figure = go.Figure([go.Bar(x=["a", "b", "c"], y=[3, 1, 2], name="counts"), go.Scatter(x=["a", "b", "c"], y=[1, None, 2.5], mode="lines+markers"), go.Pie(labels=["x", "y"], values=[4, 6], domain={"x": [0.8, 1]})])
figure.add_trace(go.Heatmap(z=rng.random((20, 30)).round(2)))
figure.update_layout(title_text="Many kinds", xaxis_title="letter")
figure

#: plotly_colab
px.bar(x=["a", "b"], y=[1, 2]).show(renderer="colab")

#: altair_mimetype
import altair as alt
alt.renderers.enable("mimetype")
chart = alt.Chart(frame.drop(columns="founded"), title="Cities").mark_bar().encode(x="city:N", y=alt.Y("population:Q", title="People"), color="city")
chart

#: altair_layered
line = alt.Chart(pd.DataFrame({"t": range(13), "v": [i * i for i in range(13)]})).mark_line().encode(x="t", y="mean(v)")
(line + line.mark_point()) | chart

#: altair_html
alt.renderers.enable("html")
chart

#: tqdm_simple
from tqdm import tqdm
for i in tqdm(range(4), desc="epochs", mininterval=0, ncols=80):
    pass

#: tqdm_nested
for epoch in tqdm(range(2), desc="epochs", ncols=80):
    for step in tqdm(range(2), desc=f"epoch {epoch}", leave=False, mininterval=0, ncols=80):
        pass
print("trained")

#: tqdm_nested_kept
for epoch in tqdm(range(2), desc="outer", ncols=80):
    for step in tqdm(range(2), desc=f"inner {epoch}", position=1, mininterval=0, ncols=80):
        pass

#: tqdm_write
for i in tqdm(range(2), mininterval=0, ncols=80):
    tqdm.write(f"step {i} done")

#: tqdm_notebook
from tqdm.notebook import tqdm as tqdm_notebook
for i in tqdm_notebook(range(3), desc="rows"):
    pass

#: rich_table
from rich.console import Console
from rich.table import Table
table = Table(title="Star Wars")
table.add_column("Released", style="cyan")
table.add_column("Title")
table.add_column("Box office", justify="right")
table.add_row("1977", "A New [b]Hope[/b]", "$775,398,007")
table.add_row("1980", "The Empire Strikes Back", "$538,375,067")
Console().print(table)

#: rich_terminal
Console(force_jupyter=False, force_terminal=True, width=60).print(table)

#: rich_progress
from rich.progress import track
for i in track(range(3), description="Counting"):
    pass

#: rich_progress_terminal
console = Console(force_jupyter=False, force_terminal=True, width=60)
for i in track(range(20), description="Counting", console=console, update_period=0.01):
    time.sleep(0.02)

#: error_zero_division
def mean(values):
    return sum(values) / len(values)

print("before")
mean([])

#: error_recursion
def f(n):
    return f(n + 1)
limit = sys.getrecursionlimit()
sys.setrecursionlimit(60)
try:
    f(0)
finally:
    sys.setrecursionlimit(limit)

#: error_syntax
print("a"
x = 1

#: error_indentation
if True:
print(1)

#: error_chained
def load(path):
    try:
        return {}["missing"]
    except KeyError as error:
        raise RuntimeError(f"could not load {path}") from error
load("data.csv")

#: error_group
raise ExceptionGroup("two failures", [ValueError("first"), ExceptionGroup("inner", [TypeError("second")])])

#: error_pandas_key
frame["nme"]

#: error_long_message
raise ValueError("bad rows:\n" + "\n".join(f"row {i}: {'x' * 40}" for i in range(1200)))

#: error_system_exit
sys.exit("stopped on purpose")

#: error_keyboard_interrupt
raise KeyboardInterrupt

#: error_import
import torch_that_is_not_there

#: warning_stderr
print("to stdout")
warnings.warn("this is deprecated", DeprecationWarning, stacklevel=1)
warnings.warn("careful")
print("to stderr", file=sys.stderr)
print("back to stdout")

#: logging_stderr
import logging
logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO, force=True)
for _ in range(5):
    logging.getLogger("train").warning("loss is nan")
logging.getLogger("train").info("finished")

#: sympy_latex
import sympy
x = sympy.symbols("x")
sympy.Integral(sympy.sqrt(1 / x), x)

#: markdown
Markdown("# Result\n\nThe *mean* is **4.2**.\n\n![dot](data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" * 2 + ")\n")

#: latex
display(Latex(r"$$\int_0^1 x^2\,dx = \frac{1}{3}$$"), Math(r"e^{i\pi}"))

#: json
JSON({"name": "run", "scores": [0.5, 1e-9, 12345678901234567890], "nested": {"deep": [{"a": None, "b": True}]}})

#: geojson
GeoJSON({"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "Kölner Dom", "height": 157}, "geometry": {"type": "Point", "coordinates": [6.958, 50.941]}}, {"type": "Feature", "properties": {"name": "Rhine"}, "geometry": {"type": "LineString", "coordinates": [[6.9, 50.9], [7.0, 51.0], [6.8, 51.2]]}}]})

#: table_schema
with pd.option_context("display.html.table_schema", True):
    display(frame)

#: html_script
HTML("<style>.x{color:red}</style><div id='a'>Hello <b>wor</b>ld &amp; <a href='https://example.org/docs'>docs</a></div><script>document.getElementById('a').innerHTML = '<p>no</p>'; " + "// filler\n" * 50 + "</script>")

#: html_script_only
HTML("<script>alert(1)</script>")

#: html_list
HTML("<h2>Steps</h2><ol><li>One</li><li>Two<ul><li>Deeper</li></ul></li></ol><hr><p>First line<br>second line</p><pre>  kept\n    as is</pre><img alt='a plot' src='data:image/png;base64," + "A" * 400 + "'>")

#: html_nested_table
HTML("<table><caption>Outer</caption><tr><th>k</th><th colspan=2>wide</th></tr><tr><td rowspan=2>r</td><td><table><tr><td>in</td><td>ner</td></tr><tr><td>1</td><td>2</td></tr></table></td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>")

#: javascript
Javascript("console.log('hi')")

#: audio
Audio(np.sin(np.linspace(0, 2000, 8000)), rate=8000)

#: video
Video(b"\x00" * 4000, embed=True, mimetype="video/mp4")

#: iframe
display(IFrame("https://example.org/map", 400, 300), YouTubeVideo("aaaaaaaaaaa"))

#: widgets
import ipywidgets
display(ipywidgets.IntSlider(value=7, description="Depth"), ipywidgets.VBox([ipywidgets.Button(description="Go")]))

#: object_repr
class Thing: pass
{"thing": [1, 2], "none": None, "nested": {"k": (1, 2)}}

#: sklearn_like
class Estimator:
    def __repr__(self): return "LinearRegression()"
    def _repr_html_(self): return "<style>#sk {" + "color: black; " * 100 + "}</style><div class='sk-top'><div class='sk-text-repr-fallback'><pre>LinearRegression()</pre></div><div hidden><input type='checkbox' checked><label>LinearRegression</label></div></div>"
Estimator()

#: lines_thousand
for i in range(1000):
    print(f"line {i}: value {i * 37 % 101}", "x" * 80)

#: line_long
print("start " + "0123456789" * 10_000 + " end")

#: lines_repeated
for i in range(300):
    print("waiting for the server")
print("connected")

#: ansi_colours
print("\x1b[1;31merror\x1b[0m: \x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\ text\ttab")

#: carriage_returns
for i in range(101):
    print(f"\rprogress {i:3d}%", end="")
print("\nspinner: ", end="")
for c in "|/-\\" * 5:
    print(f"{c}\b", end="")
print("ok")

#: pip_install
!{sys.executable} -m pip --isolated install --no-index --disable-pip-version-check surely-not-there-xyz

#: help_question
len?

#: display_update
handle = display("step 0", display_id=True)
for i in range(5):
    handle.update(f"step {i}")

#: nothing_visible
display({"application/x-private": {"a": 1}}, raw=True)

#: pdf
display({"application/pdf": "JVBERi0xLjQK" * 40, "text/plain": "<PDF>"}, raw=True)

#: mixed
print("loading")
display(frame)
plt.figure(figsize=(2, 1.5)); plt.plot([1, 2]); plt.show()
print("warned", file=sys.stderr)
len(frame)

#: sympy_png
sympy.init_printing(use_latex="matplotlib")
sympy.Eq(x ** 2, 4)

#: rich_traceback
from rich.traceback import install
install(show_locals=False, width=80)
def ratio(a, b):
    return a / b
ratio(1, 0)

"""Two days of an agent in a folder with a real kernel: 66 calls of all kinds on a notebook about sales, and a notebook of somebody else
that fails from its first cell on.

Each step is a call, or makes one of the replies so far. What a day must have shown and left is checked, so that a shorter reply that lacks
something fails.
"""

import os
import random
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.calls.agent import Agent, Cost, Reply
from bench.calls.notebooks import Json, code, markdown, read, write
from e2e.support.home import Home, new_mark
from e2e.support.processes import end_keepers

Step = tuple[str, Json]
# Makes a call of the replies so far.
Made = Callable[[list[Reply]], Step]


@dataclass
class Day:
    name: str
    notebook: str
    prepare: Callable[[Path], None]
    steps: list[Step | Made]
    # What the model must have read in some reply, and what the notebook must print at the end.
    learns: list[str]
    leaves: list[str]
    least_images: int


def call(tool: str, **given: Any) -> Step:
    return tool, given


def edit(index: int, old: str, new: str, **more: Any) -> Step:
    return call("edit_cell_source", cell_index=index, old_string=old, new_string=new, **more)


def run_id(replies: list[Reply]) -> str:
    """The run that a reply has named last."""
    return next(found[-1] for reply in reversed(replies) if (found := re.findall(r"\brun (r\d+\S*?)[\s.,\]]", reply.text + " ")))


def sales(folder: Path) -> None:
    chance = random.Random(48)
    lines = ["order_id,day, Region,product,units,price,discount"]
    for order in range(3000):
        day = f"2025-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
        product = chance.choice(["lamp", "desk", "chair", "shelf"])
        price = {"lamp": 39.9, "desk": 249.0, "chair": 89.5, "shelf": 129.0}[product]
        region = chance.choice(["north", "south", "east", "west"])
        discount = "" if chance.random() < 0.1 else f"{chance.choice([0, 0.05, 0.1, 0.2])}"
        lines.append(f"{order},{day},{region},{product},{chance.randrange(1, 9)},{price},{discount}")
    (folder / "data").mkdir()
    (folder / "data/orders.csv").write_text("\n".join(lines) + "\n")
    write(folder / SALES, [*SALES_CELLS])


SALES = "sales.ipynb"
SALES_CELLS = [
    markdown("# Sales of 2025\n\nOrders of the shop, by region and product. The data come from `data/orders.csv`."),
    code("import numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt"),
    markdown("## Load and clean"),
    code('orders = pd.read_csv("data/orders.csv", parse_dates=["day"])\norders.head()'),
    code("orders.info()"),
    code('orders["discount"] = orders["discount"].fillna(0)\norders.describe()'),
    markdown("## Revenue\n\nUnits times price, less the discount."),
    code(
        'def revenue(frame):\n    """Revenue of each order, less its discount."""\n'
        '    return frame["units"] * frame["price"] * (1 - frame["discount"])\n\n'
        'orders["revenue"] = revenue(orders)\nprint(f"total {orders[\'revenue\'].sum():,.2f}")'
    ),
    code('by_region = orders.groupby("Region")["revenue"].sum().sort_values()\nby_region'),
    code('by_product = orders.groupby("product").agg(units=("units", "sum"), revenue=("revenue", "sum"))\nby_product'),
    markdown("## Over the year"),
    code('monthly = orders.groupby(orders["day"].dt.month)["revenue"].sum()\nmonthly'),
    code(
        'fig, ax = plt.subplots(figsize=(7, 4))\nmonthly.plot(ax=ax, marker="o")\nax.set_title("Revenue by month")\n'
        'ax.set_xlabel("month")\nax.set_ylabel("revenue")\nplt.show()'
    ),
    code('pivot = orders.pivot_table(index="product", columns="Region", values="revenue", aggfunc="sum")\npivot.round(0)'),
    markdown("## Forecast"),
    code(
        'x = monthly.index.to_numpy()\nslope, level = np.polyfit(x, monthly.to_numpy(), 1)\n'
        'forecast = level + slope * np.arange(13, 16)\nforecast.round(0)'
    ),
    code('fig, ax = plt.subplots()\nby_region.plot.barh(ax=ax)\nax.set_title("Revenue by region")\nplt.show()'),
    code('for product, row in by_product.iterrows():\n    print(f"{product:>6} {row[\'units\']:7.0f} {row[\'revenue\']:12,.2f}")'),
]

A_DAY = Day(
    "a day on a notebook",
    SALES,
    sales,
    [
        call("list_notebooks"),
        call("use_notebook", notebook_path=SALES),
        call("read_notebook", response_format="detailed"),
        call("run_cells", all=True),
        call("list_variables"),
        call("inspect_variable", name="orders"),
        edit(8, '"Region"', '" Region"'),
        call("execute_cell", cell_index=8),
        edit(8, '" Region"', '"Region"'),
        edit(3, 'parse_dates=["day"])', 'parse_dates=["day"], skipinitialspace=True)', run=True),
        call("read_notebook", only="stale"),
        call("run_cells", stale=True),
        call("run_cells", **{"from": "8"}),
        call("read_cell", cell_index=12),
        call("read_cell", cell_index=11),
        call("execute_code", code="orders.isna().sum()"),
        call("execute_code", code="orders[orders['units'] > 7].shape"),
        call("insert_execute_code_cell", cell_index=10, cell_source='best = by_product["revenue"].idxmax()\nprint("best", best)'),
        call("insert_cell", cell_index=10, cell_type="markdown", cell_source="### The best product"),
        call("execute_code", code="orders.groupby('product')['discount'].mean().round(3)"),
        edit(13, 'dt.month', 'dt.to_period("M")', run=True),
        call("run_cells", stale=True),
        call("read_notebook", only="errors", include_outputs=True),
        call("undo"),
        edit(13, 'dt.to_period("M")', "dt.month", run=True),
        call("run_cells", stale=True),
        call("history"),
        call("search_notebook", query="revenue"),
        call("edit_cells", rename="by_product", rename_to="products", preview=True),
        call("edit_cells", rename="by_product", rename_to="products", run_stale=True),
        call("insert_execute_code_cell", cell_index=20, cell_source='quarter = orders.groupby(orders["day"].dt.quarter)["revenu"].sum()\nquarter'),
        edit(20, '"revenu"', '"revenue"', run=True),
        call("read_cell", cell_index=20),
        call("list_variables", pattern="quarter"),
        call("inspect_variable", name="quarter"),
        call("overwrite_cell_source", cell_index=20, cell_source='quarter = orders.groupby(orders["day"].dt.quarter)["revenue"].agg(["sum", "mean"])\nquarter.round(1)', run=True),
        call("change_cell", cell_index=20, tags=["result"]),
        call("insert_execute_code_cell", cell_index=21, cell_source='import time\nfor step in range(600):\n    print("step", step)\n    time.sleep(0.2)', timeout=2),
        lambda replies: call("get_run", run_id=run_id(replies), wait_seconds=1),
        lambda replies: call("interrupt_kernel", run_id=run_id(replies[:-1])),
        lambda replies: call("get_run", run_id=run_id(replies[:-2])),
        call("read_cell", cell_index=21),
        call("delete_cell", cell_indices=[21]),
        call("execute_cell", cell_index=14),
        call("edit_cell_source", cell_index=14, old_string="figsize=(7, 4)", new_string="figsize=(8, 4)", run=True),
        call("edit_cell_source", cell_index=14, old_string="figsize=(8, 4)", new_string="figsize=(7, 4)", run=True),
        call("execute_cell", cell_index=7),
        call("execute_cell", cell_index=7),
        call("execute_code", code="undefined_name + 1"),
        call("execute_code", code="pd.to_datetime(orders['product'])"),
        call("checkpoint", name="before the threshold"),
        edit(17, "np.arange(13, 16)", "np.arange(13, horizon)", run=True),
        edit(17, "horizon", "19", run=True),
        call("move_cell", source_index=20, target_index=14),
        call("read_notebook"),
        call("history"),
        call("undo"),
        call("clear_cell_output", cell_index=4),
        call("execute_cell", cell_index=4),
        call("restart_notebook", notebook_name=SALES),
        call("execute_cell", cell_index=9),
        call("run_cells", all=True),
        call("read_notebook", only="stale"),
        call("list_variables"),
        call("verify_notebook", timeout=170, confirm=True),
        call("read_notebook"),
    ],
    ["KeyError", "Region", "total ", "best desk", "revenu", "Reruns from a fresh kernel"],
    ["total ", "best desk"],
    4,
)

TITANIC = "titanic.ipynb"


def titanic(folder: Path) -> None:
    chance = random.Random(1912)
    (folder / "data").mkdir()
    for name, count in (("train", 891), ("test", 418)):
        lines = ["PassengerId," + ("Survived," if name == "train" else "") + "Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked"]
        for number in range(count):
            survived = f"{chance.randrange(2)}," if name == "train" else ""
            sex = chance.choice(["male", "female"])
            title = "Mr." if sex == "male" else chance.choice(["Mrs.", "Miss."])
            age = "" if chance.random() < 0.2 else str(chance.randrange(1, 75))
            cabin = "" if chance.random() < 0.75 else f"{chance.choice('ABCDE')}{chance.randrange(1, 90)}"
            passenger = f'"Name{number}, {title} First{number}",{sex},{age},{chance.randrange(3)},{chance.randrange(3)}'
            rest = f"T{chance.randrange(99999)},{chance.random() * 90:.2f},{cabin},{chance.choice('SCQ')}"
            lines.append(f"{number + 1},{survived}{chance.randrange(1, 4)},{passenger},{rest}")
        (folder / f"data/{name}.csv").write_text("\n".join(lines) + "\n")
    write(folder / TITANIC, [*TITANIC_CELLS])


def text(title: str) -> Json:
    return markdown(
        f"## {title}\n\nIn this section we look at **{title.lower()}** and decide what to keep for the model. If you find this kernel "
        "useful, *please upvote* - it keeps me motivated!"
    )


def model(name: str, title: str, arguments: str = "") -> Json:
    return code(
        f"# {title}\n{name} = {title}({arguments})\n{name}.fit(X_train, Y_train)\nY_pred = {name}.predict(X_test)\n"
        f"acc_{name} = round({name}.score(X_train, Y_train) * 100, 2)\nprint('{title}:', acc_{name})"
    )


TITANIC_CELLS = [
    markdown(
        "# Titanic: data science solutions\n\nThis notebook is a companion to the book. We go through a typical workflow of a competition: "
        "question, acquire the data, wrangle, analyse, model, submit.\n\n*Forked from a public kernel, 2017, Python 3.6.*"
    ),
    code(
        "# data analysis and wrangling\nimport pandas as pd\nimport numpy as np\nimport random as rnd\n\n# visualization\n"
        "import seaborn as sns\nimport matplotlib.pyplot as plt\n%matplotlib inline\n\n# machine learning\n"
        "from sklearn.linear_model import LogisticRegression\nfrom sklearn.svm import SVC, LinearSVC\n"
        "from sklearn.ensemble import RandomForestClassifier\nfrom sklearn.neighbors import KNeighborsClassifier\n"
        "from sklearn.naive_bayes import GaussianNB\nfrom sklearn.tree import DecisionTreeClassifier"
    ),
    text("Acquire data"),
    code("train_df = pd.read_csv('../input/titanic/train.csv')\ntest_df = pd.read_csv('../input/titanic/test.csv')\ncombine = [train_df, test_df]"),
    code("print(train_df.columns.values)"),
    code("# preview the data\ntrain_df.head()"),
    code("train_df.tail()"),
    code("train_df.info()\nprint('_'*40)\ntest_df.info()"),
    code("train_df.describe()"),
    code("train_df.describe(include=['O'])"),
    text("Analyze by pivoting features"),
    code("train_df[['Pclass', 'Survived']].groupby(['Pclass'], as_index=False).mean().sort_values(by='Survived', ascending=False)"),
    code("train_df[['Sex', 'Survived']].groupby(['Sex'], as_index=False).mean().sort_values(by='Survived', ascending=False)"),
    code("train_df[['SibSp', 'Survived']].groupby(['SibSp'], as_index=False).mean().sort_values(by='Survived', ascending=False)"),
    code("train_df[['Parch', 'Survived']].groupby(['Parch'], as_index=False).mean().sort_values(by='Survived', ascending=False)"),
    text("Analyze by visualizing data"),
    code("plt.hist(train_df['Age'].dropna(), bins=20)\nplt.title('Age')\nplt.show()"),
    code("fig, axes = plt.subplots(1, 3, figsize=(9, 3))\nfor ax, (pclass, part) in zip(axes, train_df.groupby('Pclass')):\n    ax.hist(part['Age'].dropna(), bins=20)\n    ax.set_title(f'Pclass {pclass}')\nplt.show()"),
    code("plt.scatter(train_df['Age'], train_df['Fare'], c=train_df['Survived'])\nplt.show()"),
    text("Wrangle data"),
    code(
        "print('Before', train_df.shape, test_df.shape, combine[0].shape, combine[1].shape)\n\n"
        "train_df = train_df.drop(['Ticket', 'Cabin'], axis=1)\ntest_df = test_df.drop(['Ticket', 'Cabin'], axis=1)\n"
        "combine = [train_df, test_df]\n\n'After', train_df.shape, test_df.shape, combine[0].shape, combine[1].shape"
    ),
    code(
        "for dataset in combine:\n    dataset['Title'] = dataset.Name.str.extract(r' ([A-Za-z]+)\\.', expand=False)\n\n"
        "pd.crosstab(train_df['Title'], train_df['Sex'])"
    ),
    code(
        "for dataset in combine:\n    dataset['Title'] = dataset['Title'].replace('Mlle', 'Miss')\n"
        "    dataset['Title'] = dataset['Title'].replace('Mme', 'Mrs')\n\n"
        "train_df[['Title', 'Survived']].groupby(['Title'], as_index=False).mean()"
    ),
    code(
        'title_mapping = {"Mr": 1, "Miss": 2, "Mrs": 3}\nfor dataset in combine:\n'
        "    dataset['Title'] = dataset['Title'].map(title_mapping)\n    dataset['Title'] = dataset['Title'].fillna(0)\n\ntrain_df.head()"
    ),
    code(
        "train_df = train_df.drop(['Name', 'PassengerId'], axis=1)\ntest_df = test_df.drop(['Name'], axis=1)\n"
        "combine = [train_df, test_df]\ntrain_df.shape, test_df.shape"
    ),
    text("Convert a categorical feature"),
    code("for dataset in combine:\n    dataset['Sex'] = dataset['Sex'].map({'female': 1, 'male': 0}).astype(np.int)\n\ntrain_df.head()"),
    text("Complete a numerical continuous feature"),
    code(
        "guess_ages = np.zeros((2, 3))\nfor dataset in combine:\n    for i in range(0, 2):\n        for j in range(0, 3):\n"
        "            guess_df = dataset[(dataset['Sex'] == i) & (dataset['Pclass'] == j+1)]['Age'].dropna()\n"
        "            guess_ages[i,j] = int(guess_df.median() / 0.5 + 0.5) * 0.5\n\n    for i in range(0, 2):\n        for j in range(0, 3):\n"
        "            dataset.loc[(dataset.Age.isnull()) & (dataset.Sex == i) & (dataset.Pclass == j+1), 'Age'] = guess_ages[i,j]\n\n"
        "    dataset['Age'] = dataset['Age'].astype(np.int)\n\ntrain_df.head()"
    ),
    code(
        "train_df['AgeBand'] = pd.cut(train_df['Age'], 5)\n"
        "train_df[['AgeBand', 'Survived']].groupby(['AgeBand'], as_index=False).mean().sort_values(by='AgeBand', ascending=True)"
    ),
    code(
        "for dataset in combine:\n    dataset.loc[ dataset['Age'] <= 16, 'Age'] = 0\n"
        "    dataset.loc[(dataset['Age'] > 16) & (dataset['Age'] <= 32), 'Age'] = 1\n"
        "    dataset.loc[(dataset['Age'] > 32) & (dataset['Age'] <= 48), 'Age'] = 2\n"
        "    dataset.loc[(dataset['Age'] > 48) & (dataset['Age'] <= 64), 'Age'] = 3\n"
        "    dataset.loc[ dataset['Age'] > 64, 'Age'] = 4\ntrain_df.head()"
    ),
    code("train_df = train_df.drop(['AgeBand'], axis=1)\ncombine = [train_df, test_df]\ntrain_df.head()"),
    code(
        "for dataset in combine:\n    dataset['FamilySize'] = dataset['SibSp'] + dataset['Parch'] + 1\n\n"
        "train_df[['FamilySize', 'Survived']].groupby(['FamilySize'], as_index=False).mean().sort_values(by='Survived', ascending=False)"
    ),
    code(
        "for dataset in combine:\n    dataset['IsAlone'] = 0\n    dataset.loc[dataset['FamilySize'] == 1, 'IsAlone'] = 1\n\n"
        "train_df[['IsAlone', 'Survived']].groupby(['IsAlone'], as_index=False).mean()"
    ),
    code(
        "train_df = train_df.drop(['Parch', 'SibSp', 'FamilySize'], axis=1)\ntest_df = test_df.drop(['Parch', 'SibSp', 'FamilySize'], axis=1)\n"
        "combine = [train_df, test_df]\n\ntrain_df.head()"
    ),
    code(
        "for dataset in combine:\n    dataset['Age*Class'] = dataset.Age * dataset.Pclass\n\n"
        "train_df.loc[:, ['Age*Class', 'Age', 'Pclass']].head(10)"
    ),
    text("Complete a categorical feature"),
    code("freq_port = train_df.Embarked.dropna().mode()[0]\nfreq_port"),
    code(
        "for dataset in combine:\n    dataset['Embarked'] = dataset['Embarked'].fillna(freq_port)\n\n"
        "train_df[['Embarked', 'Survived']].groupby(['Embarked'], as_index=False).mean().sort_values(by='Survived', ascending=False)"
    ),
    code(
        "for dataset in combine:\n    dataset['Embarked'] = dataset['Embarked'].map( {'S': 0, 'C': 1, 'Q': 2} ).astype(np.int)\n\ntrain_df.head()"
    ),
    code("test_df['Fare'] = test_df['Fare'].fillna(test_df['Fare'].dropna().median())\ntest_df.head()"),
    code(
        "train_df['FareBand'] = pd.qcut(train_df['Fare'], 4)\n"
        "train_df[['FareBand', 'Survived']].groupby(['FareBand'], as_index=False).mean().sort_values(by='FareBand', ascending=True)"
    ),
    code(
        "for dataset in combine:\n    dataset.loc[ dataset['Fare'] <= 22, 'Fare'] = 0\n"
        "    dataset.loc[(dataset['Fare'] > 22) & (dataset['Fare'] <= 45), 'Fare'] = 1\n"
        "    dataset.loc[(dataset['Fare'] > 45) & (dataset['Fare'] <= 67), 'Fare'] = 2\n"
        "    dataset.loc[ dataset['Fare'] > 67, 'Fare'] = 3\n    dataset['Fare'] = dataset['Fare'].astype(np.int)\n\n"
        "train_df = train_df.drop(['FareBand'], axis=1)\ncombine = [train_df, test_df]\ntrain_df.head(10)"
    ),
    text("Model, predict and solve"),
    code(
        'X_train = train_df.drop("Survived", axis=1)\nY_train = train_df["Survived"]\n'
        'X_test = test_df.drop("PassengerId", axis=1).copy()\nX_train.shape, Y_train.shape, X_test.shape'
    ),
    model("logreg", "LogisticRegression"),
    code(
        "coeff_df = pd.DataFrame(train_df.columns.delete(0))\ncoeff_df.columns = ['Feature']\n"
        "coeff_df['Correlation'] = pd.Series(logreg.coef_[0])\n\ncoeff_df.sort_values(by='Correlation', ascending=False)"
    ),
    model("svc", "SVC"),
    model("knn", "KNeighborsClassifier", "n_neighbors=3"),
    model("gaussian", "GaussianNB"),
    model("linear_svc", "LinearSVC"),
    model("decision_tree", "DecisionTreeClassifier"),
    model("random_forest", "RandomForestClassifier", "n_estimators=100"),
    text("Model evaluation"),
    code(
        "models = pd.DataFrame({\n    'Model': ['SVM', 'KNN', 'LR', 'RF', 'NB', 'Linear SVC', 'Tree'],\n"
        "    'Score': [acc_svc, acc_knn, acc_logreg, acc_random_forest, acc_gaussian, acc_linear_svc, acc_decision_tree]})\n"
        "models.sort_values(by='Score', ascending=False)"
    ),
    code('submission = pd.DataFrame({"PassengerId": test_df["PassengerId"], "Survived": Y_pred})\nsubmission.head()'),
    code("# submission.to_csv('../output/submission.csv', index=False)\nsns.countplot(x='Survived', data=submission)\nplt.show()"),
]

RUN_ALL = call("run_cells", all=True, on_error="continue", timeout=120)
ERRORS = call("read_notebook", only="errors", include_outputs=True, limit=0)
STAND_IN = """
class Nearest:
    \"\"\"Stands in for the classifiers of scikit-learn, which is not installed here.\"\"\"
    def __init__(self, **options):
        self.options = options
    def fit(self, x, y):
        self.means = {label: x[y == label].mean() for label in sorted(y.unique())}
        self.coef_ = [(self.means[1] - self.means[0]).to_numpy()]
    def predict(self, x):
        gaps = pd.DataFrame({label: ((x - mean) ** 2).sum(axis=1) for label, mean in self.means.items()})
        return gaps.idxmin(axis=1)
    def score(self, x, y):
        return (self.predict(x) == y).mean()

LogisticRegression = SVC = LinearSVC = RandomForestClassifier = Nearest
KNeighborsClassifier = GaussianNB = DecisionTreeClassifier = Nearest"""

A_FOREIGN_NOTEBOOK = Day(
    "a notebook of somebody else that fails",
    TITANIC,
    titanic,
    [
        call("use_notebook", notebook_path=TITANIC),
        call("read_notebook", response_format="detailed", limit=0),
        RUN_ALL,
        ERRORS,
        call("list_files", max_depth=2),
        call("execute_code", code="import sys, subprocess\nprint(sys.version)\nimport sklearn"),
        edit(1, "import seaborn as sns\n", ""),
        lambda _: edit(1, SKLEARN, STAND_IN.strip()),
        RUN_ALL,
        ERRORS,
        call("read_cell", cell_index=3),
        edit(3, "../input/titanic/", "data/", replace_all=True, run=True),
        RUN_ALL,
        ERRORS,
        call("read_cell", cell_index=26),
        call("search_notebook", query="np.int"),
        call(
            "edit_cells",
            edits=[
                {"cell_index": index, "old_string": "np.int", "new_string": "int", "replace_all": True} for index in (26, 28, 39, 42)
            ],
        ),
        RUN_ALL,
        ERRORS,
        edit(56, "sns.countplot(x='Survived', data=submission)", "submission['Survived'].value_counts().plot.bar()"),
        RUN_ALL,
        ERRORS,
        call("read_notebook", response_format="detailed", start_index=44, limit=12, include_outputs=True),
        call("verify_notebook", timeout=170, confirm=True),
    ],
    ["No module named 'seaborn'", "../input/titanic/train.csv", "numpy", "'int'", "Reruns from a fresh kernel"],
    ["LogisticRegression: ", "RandomForestClassifier: "],
    1,
)
SKLEARN = "".join(TITANIC_CELLS[1]["source"]).split("# machine learning\n")[1]

DAYS = [A_DAY, A_FOREIGN_NOTEBOOK]


def spend(day: Day, program: str) -> Cost:
    """Spends the day with a program in a folder of its own; what it cost."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "shop"
        root.mkdir()
        home, mark = Home(Path(temporary) / "home"), new_mark()
        home.folder.mkdir()
        day.prepare(root)
        replies: list[Reply] = []
        try:
            with Agent([program], root, {**os.environ, **home.environment(mark)}) as agent:
                for made in day.steps:
                    tool, given = made(replies) if callable(made) else made
                    replies.append(agent.call(tool, given))
                cost = agent.cost
        finally:
            end_keepers(mark)
        check(day, root, replies)
        return cost


def check(day: Day, folder: Path, replies: list[Reply]) -> None:
    seen = "\n".join(reply.text for reply in replies)
    missing = [text for text in day.learns if text not in seen]
    assert not missing, f"{day.name}: the model has not read {missing}"
    assert sum(reply.images for reply in replies) >= day.least_images, f"{day.name}: no images"
    cells = read(folder / day.notebook)
    printed = "\n".join(cell.output for cell in cells)
    assert all(text in printed for text in day.leaves), f"{day.name}: the notebook holds {printed}"
    failed = [cell.errors for cell in cells if cell.errors]
    assert not failed, f"{day.name}: {failed}"

//! Why cells may give other results when they run again.

use syntax::{Cause, nondeterminism};

/// For each cell with causes: `1: Random np.random.rand(), Clock time.time()`.
fn causes(cells: &[&str]) -> String {
    let found = nondeterminism(cells);
    let words = found.iter().enumerate().filter(|(_, found)| !found.is_empty()).map(|(index, found)| {
        let causes: Vec<_> = found.iter().map(|(cause, code)| format!("{cause:?} {code}")).collect();
        format!("{index}: {}", causes.join(", "))
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Compares the causes of the cells in each row with what stands behind ` :: `, or with none. A line that is indented further continues
/// a row, `\n` is a line break in a cell, and `//` starts a comment.
fn check(text: &str) {
    let is_row = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let mut rows = Vec::<String>::new();
    for line in text.lines().filter(is_row) {
        match rows.last_mut().filter(|_| line.starts_with("            ")) {
            Some(row) => row.push_str(&format!(" {}", line.trim())),
            None => rows.push(line.trim().to_owned()),
        }
    }
    for row in rows.iter().map(|row| row.replace("\\n", "\n")) {
        let (cells, expected) = row.split_once(" :: ").unwrap_or((&row, ""));
        assert_eq!(causes(&cells.split(" | ").collect::<Vec<_>>()), expected, "{cells}");
    }
}

#[test]
fn random_numbers_without_a_seed() {
    check(
        r"
        import random | random.random() :: 1: Random random.random()
        import random as r | r.choice(xs) :: 1: Random r.choice()
        from random import randint as dice | dice(1, 6) :: 1: Random dice()
        import numpy as np | np.random.rand(3) :: 1: Random np.random.rand()
        import numpy.random as npr\nnpr.normal() :: 0: Random npr.normal()
        from numpy import random\nrandom.shuffle(x) :: 0: Random random.shuffle()
        import numpy as np\nrnd = np.random | rnd.rand() :: 1: Random rnd.rand()
        import numpy as np\nrandn = np.random.randn | randn(3) :: 1: Random randn()
        from random import * | choice(xs) :: 1: Random choice()
        from numpy.random import * | exponential(2) :: 1: Random exponential()
        from random import * | from math import * | sqrt(2), expovariate(3) :: 2: Random expovariate()
        import numpy as np | rng = np.random.default_rng() | rng.normal()
            :: 1: Random np.random.default_rng(); 2: Random rng.normal()
        import numpy as np | np.random.RandomState(None).rand() :: 1: Random np.random.RandomState()
        import torch | torch.rand(3) | torch.nn.Linear(1, 2)
            :: 1: Random torch.rand(); 2: Random torch.nn.Linear()
        from torch import nn | model = nn.Linear(1, 2) :: 1: Random nn.Linear()
        import tensorflow as tf | tf.random.normal([1]) :: 1: Random tf.random.normal()
        df.sample(5) :: 0: Random df.sample()
        df.groupby('a').sample(frac=0.5) :: 0: Random df.groupby('a').sample()
        from scipy import stats | stats.norm.rvs(size=3) :: 1: Random stats.norm.rvs()
        from sklearn.model_selection import train_test_split | a, b = train_test_split(X)
            :: 1: Random train_test_split()
        import uuid, os, secrets | uuid.uuid4() | os.urandom(3) | secrets.token_hex()
            :: 1: Random uuid.uuid4(); 2: Random os.urandom(); 3: Random secrets.token_hex()
        import random\nrandom.seed()\nrandom.random() :: 0: Random random.random()
        import random\nrandom.random()\nrandom.seed(1) :: 0: Random random.random()
        // A seed of another library.
        import random, numpy as np\nrandom.seed(1) | np.random.rand() :: 1: Random np.random.rand()
        import random, uuid\nrandom.seed(1) | uuid.uuid4() :: 1: Random uuid.uuid4()
        import random\nrandom.seed(1) | df.sample(3) :: 1: Random df.sample()
        // Through functions.
        import random\ndef draw(): return random.random() | draw() :: 1: Random draw()
        import random\ndraw = lambda: random.random() | [draw() for _ in x] :: 1: Random draw()
        import random\nclass A:\n    def m(self): return random.random() | A().m() :: 1: Random A()
        def f():\n    import random\n    return random.random() | f() :: 1: Random f()
        import random\ndef f(): return random.random()\ndef g(): return f() | g() :: 1: Random g()
        import numpy as np | df.apply(np.random.permutation) :: 1: Random np.random.permutation
        ",
    );
}

#[test]
fn seeded_random_numbers_and_other_names_are_no_cause() {
    check(
        r"
        import random\nrandom.seed(1) | random.random()
        import numpy as np | np.random.seed(SEED)\nnp.random.rand() | df.sample(3)
        import numpy as np\nrng = np.random.default_rng(42) | rng.normal()
        import numpy as np\nrng = np.random.RandomState(seed=1) | rng.rand()
        import random\nrng = random.Random(3) | rng.random() | rng.sample(xs, 2)
        import torch\ntorch.manual_seed(0) | torch.rand(2)
        import tensorflow as tf\ntf.random.set_seed(1) | tf.random.uniform([1])
        import tensorflow as tf\ntf.keras.utils.set_random_seed(1) | import numpy as np\nnp.random.rand()
        from lightning import seed_everything\nseed_everything(1) | import torch\ntorch.rand(1)
        import pytorch_lightning as pl\npl.seed_everything(1) | import torch\ntorch.rand(1)
        import random, numpy as np\ndef fix():\n    random.seed(1)\n    np.random.seed(1) | fix()
            | np.random.rand()
        import random\ndef draw():\n    random.seed(1)\n    return random.random() | draw()
        import random\ndef draw(): return random.random() | random.seed(1) | draw()
        df.sample(3, random_state=1) | df.sample(3, seed=1)
        from sklearn.model_selection import train_test_split | train_test_split(X, random_state=0)
        from sklearn.model_selection import train_test_split | train_test_split(X, shuffle=False)
        from sklearn.cluster import KMeans | KMeans(3).fit(X)
        import torch\ng = torch.Generator().manual_seed(1) | torch.rand(2, generator=g)
        // What was drawn, read or fetched before is a value.
        import random, numpy as np, pandas as pd\nrandom.seed(1)\nnp.random.seed(1)
            | x = random.random()\ny = np.random.rand(3) | x | y.mean(), y
        // Other names.
        random = 3 | random
        from pylab import * | plot(xs)
        def rand(): return 4 | rand()
        import numpy as np\nnp = other | np.random.rand()
        import random\ndef f(random): return random.random() | f(1)
        x.random() | self.random.rand() | 'random.random()'  # random.random()
        import random | random.Random(1)
        import numpy as np | isinstance(x, np.random.Generator)
        import random\ndef draw(): return random.random()
        import random | state = random.getstate()
        ",
    );
}

#[test]
fn clocks_and_files() {
    check(
        r"
        import time | start = time.time() :: 1: Clock time.time()
        from time import perf_counter | perf_counter() :: 1: Clock perf_counter()
        from datetime import datetime as dt | dt.now() :: 1: Clock dt.now()
        import datetime | datetime.date.today() :: 1: Clock datetime.date.today()
        import pandas as pd | pd.Timestamp.now() | pd.Timestamp('2020-01-01') :: 1: Clock pd.Timestamp.now()
        import time | time.localtime() | time.localtime(0) | time.sleep(1) :: 1: Clock time.localtime()
        %time f(x) | %timeit f(x) | %%time\nf(x) | %%timeit\nf(x)
            :: 0: Clock %time; 1: Clock %timeit; 2: Clock %%time; 3: Clock %%timeit
        from tqdm.auto import tqdm | for i in tqdm(xs): pass :: 1: Clock tqdm()
        open('a.txt') | open('a.txt', 'w') | open(p, mode='ab') | open(p, 'r+')
            :: 0: File open(); 3: File open()
        with open(p) as f: f.read() :: 0: File open()
        import pandas as pd | pd.read_csv('a.csv') | pd.read_csv('https://x.org/a.csv') | pd.read_sql(q, c)
            :: 1: File pd.read_csv(); 2: Network pd.read_csv(); 3: Network pd.read_sql()
        from pathlib import Path | Path('a').read_text() | p = Path('b') | p.exists() | (p / 'c').read_bytes()
            | p.write_text('x')
            :: 1: File Path('a').read_text(); 3: File p.exists(); 4: File (p / 'c').read_bytes()
        import os, glob | os.listdir() | glob.glob('*') | os.path.join('a', 'b')
            :: 1: File os.listdir(); 2: File glob.glob()
        ",
    );
}

#[test]
fn networks_machines_and_counters() {
    check(
        r"
        import requests | requests.get(url).json() | s = requests.Session() | s.get(url)
            :: 1: Network requests.get(); 2: Network requests.Session(); 3: Network s.get()
        from transformers import AutoModel | AutoModel.from_pretrained('x')
            :: 1: Network AutoModel.from_pretrained()
        from sklearn.datasets import fetch_openml, load_iris | fetch_openml('x') | load_iris()
            :: 1: Network fetch_openml()
        !ls | x = !date | %pip install x | %%bash\nls | %%html\n<b>
            :: 0: System !ls; 1: System !date; 2: System %pip; 3: System %%bash
        import os, sys, platform | os.environ['A'] | sys.version | platform.node() | input('?')
            :: 1: System os.environ; 2: System sys.version; 3: System platform.node(); 4: System input()
        import numpy as np, pandas as pd, requests, time | x = np.random.rand(3) | x | x.mean()
            | df = pd.read_csv('a') | df | df.head() | r = requests.get(u) | r | r.json() | t = time.time()
            | t | t.x
            :: 1: Random np.random.rand(); 4: File pd.read_csv(); 7: Network requests.get(); 10: Clock time.time()
        import pandas as pd | pd.__version__ :: 1: System pd.__version__
        id(x) | hash('a') | import itertools\nc = itertools.count() | next(c)
            :: 0: Counter id(); 1: Counter hash(); 2: Counter itertools.count(); 3: Counter c
        import time, random | time.time(); random.random(); open('x')
            :: 1: Random random.random(), Clock time.time(), File open()
        def id(x): return 1 | id(2)
        x.open(); x.time(); df.id; x.get(url) | id = 3\nid
        x = = 1 | %%sql\nselect 1 :: 1: Network %%sql
        ",
    );
}

#[test]
fn the_first_code_of_a_cause_is_known() {
    let found = nondeterminism(&["import time\ntime.time(); time.perf_counter()"]);
    assert_eq!(found[0].get(&Cause::Clock).map(String::as_str), Some("time.time()"));
    assert_eq!(found[0].get(&Cause::Random), None);
}

#[test]
fn formatted_times() {
    check(
        r"
        import time | time.strftime('%S') :: 1: Clock time.strftime()
        import time | time.strftime('%Y', t)
        from time import strftime | strftime('%H') :: 1: Clock strftime()
        from datetime import datetime | datetime.now().strftime('%S') :: 1: Clock datetime.now()
        ",
    );
}

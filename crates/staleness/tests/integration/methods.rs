//! Which methods change the object `x` that they are called of: cells that use it below are stale if the call is edited.

use staleness::StaleState;

use crate::story::Story;

/// Whether an edit of a cell that runs `use_of_x` makes a cell stale that shows `x`.
fn changes(made: &str, use_of_x: &str) -> bool {
    let mut story = Story::ran(&[made, use_of_x, "print(x)"]);
    story.edit("b", &format!("{use_of_x}\n{use_of_x}"));
    story.states()[2].state != StaleState::UpToDate
}

/// `uses` has them in lines, between ` | `, with `\n` for a line break and comments after `//`.
fn check(made: &str, uses: &str, expected: bool) {
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with("//");
    let uses = uses.lines().map(str::trim).filter(is_row).flat_map(|line| line.split(" | "));
    let uses = uses.map(|it| it.replace("\\n", "\n"));
    let wrong: Vec<_> = uses.filter(|it| changes(made, it) != expected).collect();
    assert!(
        wrong.is_empty(),
        "{made}: these should{} change x: {wrong:#?}",
        if expected { "" } else { " not" }
    );
}

#[test]
fn methods_of_python_that_only_read() {
    check(
        "x = f()",
        r"
        print(x.isascii(), x.format_map(d), x.encode()) | x.isdisjoint(s) | x.issuperset(s) | x.most_common(3)
        x.bit_length() | x.as_integer_ratio() | x.hex() | x.sqrt() | x._asdict() | y = x._replace(a=1)
        // Dates
        x.strftime('%Y') | x.isoformat() | x.timestamp() | x.total_seconds() | x.date() | x.weekday()
        x.astimezone(z)
        // Regular expressions
        x.match(s) | x.fullmatch(s) | x.findall(s) | for m in x.finditer(s): print(m) | x.group(1)
        x.groups() | x.groupdict() | x.span()
        // Files
        x.joinpath('a') | x.with_name('a').exists() | x.relative_to(root) | x.resolve() | list(x.iterdir())
        list(x.rglob('*.py')) | x.read_bytes() | x.stat().st_size | x.expanduser()
        with x.open() as f: print(f) | with x.open('rb') as f: print(f)
        ",
        false,
    );
    check("x = re.compile('a')", "x.search('b') | x.scanner('b')", false);
}

#[test]
fn methods_of_libraries_that_only_read() {
    check(
        "x = f()",
        r"
        // pandas
        x.str.contains('a') | x.str.extract('(a)') | x.dt.floor('D') | x.cat.add_categories(['a'])
        x['a'].str.normalize('NFC') | x.plot.scatter('a', 'b') | x.style.background_gradient()
        y = x.add_prefix('a') | x.duplicated() | x.reindex(i) | x.convert_dtypes() | x.corrwith(y)
        x.idxmin() | x.expanding().mean() | x.size() | x.nth(0)
        // polars
        x.sort('a') | x.n_unique() | x.with_row_index() | x.drop_nulls() | x.write_csv(p)
        x.unpivot(index='a')
        // NumPy and PyTorch
        x.argpartition(3) | x.tobytes() | x.ptp() | x.trace() | y = x.resize((9, 9)) | x.reshape(-1).view()
        x.unsqueeze(0) | x.permute(1, 0) | x.softmax(0) | x.clone().detach() | x.numpy() | x.state_dict()
        // SciPy, scikit-learn, statsmodels, SymPy, networkx
        x.pdf(0) | x.cdf(0) | x.ppf(0.5) | x.logpmf(1) | x.toarray() | x.get_feature_names_out()
        x.kneighbors_graph(a) | x.staged_predict(a) | x.forecast(3) | x.plot_diagnostics() | x.subs(a, 1)
        x.evalf() | y = x.simplify() | x.expand() | x.doit() | x.coeff(a) | x.neighbors(1) | x.degree()
        x.has_edge(1, 2) | x.number_of_nodes() | x.subgraph([1])
        // Pictures, figures, and others
        y = x.rotate(9) | x.crop((0, 0, 1, 1)) | x.convert('L') | x.getpixel((0, 0)) | x.savefig('a.png')
        x.isel(time=0) | x.sel(time=t) | x.json() | x.raise_for_status() | x.find_all('a') | x.hexdigest()
        ",
        false,
    );
}

#[test]
fn methods_that_change_their_object() {
    check(
        "x = f()",
        r"
        x.append(1) | x.update(a=1) | x.add(1) | x.clear() | x.sort() | x.fit(a) | x.partial_fit(a)
        x.set_params(a=1) | x.pop() | x.resize((9, 9)) | x.partition(3) | x.rotate(1) | x.simplify()
        x.itemset(0, 1) | x.setflags(write=False) | x.drop(columns='a', inplace=True)
        x.str.strip().replace('a', 'b', inplace=True)\nx.rename(a, inplace=True)
        y = x.shrink_to_fit(in_place=True) | x.clip(0, 1, out=x) | x.mul_(2) | x.backward() | x.to(device)
        x.eval() | x.thumbnail((9, 9)) | x.load_state_dict(s) | x.move_to_end('a') | x.subtract('a')
        x.cancel() | x.extract() | x.eliminate_zeros() | x.add_edge(1, 2) | x.integrate(9) | x.search(a)
        x.get_nowait() | x.rvs(3) | x.execute(q) | x.mkdir() | x.write_text('a')
        with x.open('w') as f: f.write('a') | x.cat.append(1)
        ",
        true,
    );
}

const STORE: &str = "@dataclass
class Store:
    items: list
    def total(self): return sum(self.items)
    def mean_of(self, key):
        chosen = [it for it in self.items if it == key]
        chosen.append(0)
        return np.mean(chosen) / self.total()
    def rows(self):
        for key, item in zip(self.keys, self.items): yield key, item.copy()
    def scaled(self, by): return Store([it * by for it in self.items])
    def near(self, other): return abs(self.total() - other.total()) < self.limit.get('a', 1)
    def shown(self, frame):
        frame = frame.copy()
        frame['a'] = self.items
        return frame
    @property
    def first(self): return self.items[0]
    @staticmethod
    def half(n): return n / 2
    @property
    def size(self): return self.limit
    @size.setter
    def size(self, n): self.limit = n
    def double(self): return 2 * self.size
    def count(self, n): self.items = [n]
    def put(self, n): self.items.append(n)
    def through(self): return self.put(1)
    def item_of(self):
        items = self.items
        items.sort()
        return items
    def each(self):
        for item in self.items: item.run()
    def nested(self):
        for key, item in self.parts.items(): item['a'] = 1
    def library(self): return self.model.advance()
    def random(self): random.shuffle(self.items)
    def into(self): np.add(self.items, 1, out=self.items)
    def removed(self): del self.items[0]
    def next_one(self): return next(self.stream)
    def based(self): return super().based()
    def mean(self): self.n += 1
    @traced
    def decorated(self): return 1";

#[test]
fn methods_of_the_notebook_change_what_their_bodies_change() {
    let made = format!("{STORE}\nx = Store([1])");
    check(
        &made,
        r"
        x.total() | x.mean_of('a') | list(x.rows()) | y = x.scaled(2) | x.near(other) | x.shown(df) | x.first
        x.half(2) | def f(): return x.total()\nf() | a = x\na.total()
        x.double()
        ",
        false,
    );
    check(
        &made,
        r"
        x.count(1) | x.put(1) | x.through() | x.item_of() | x.each() | x.nested()
        x.library() | x.random() | x.into() | x.removed() | x.next_one() | x.based()
        x.mean() | x.decorated() | x.unknown() | x.total()\nx.put(1) | def f(): x.put(1)\nf()
        ",
        true,
    );
    // A class below it has methods of its own.
    let made = format!("{STORE}\nclass Other(Store):\n    def size(self): return 1\nx = Other([1])");
    check(&made, "x.total() | x.size()", false);
    check(&made, "x.through() | x.mean()", true);
}

/// Rows of a class and the call that makes `x`, ` :: `, and uses.
fn check_classes(rows: &str, expected: bool) {
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty() && !row.starts_with("//")) {
        let (made, uses) = row.split_once(" :: ").unwrap();
        check(&made.replace("\\n", "\n"), uses, expected);
    }
}

const READER: &str = "class Reader:
    def __init__(self, f, name='a'):
        self.f, self.n, self.rows = f, 0, []
    def rest(self): return [it for it in self.f]
    def listed(self): return list(self.f)
    def counted(self):
        lines = self.f
        return sum(1 for _ in lines)
    def has(self, it): return it in self.f
    def unpacked(self):
        first, *others = self.f
        return first
    def lines(self): return self.f
    def parsed(self): return json.load(self.f)
    def through(self): return self.rest()
    def array(self): return np.fromiter(self.f, int)
    def generated(self): yield from self.f
    def __iter__(self): return iter(self.f)
    def texts(self): return [str(it) for it in self]
    def size(self): return len(self.rows)
    def total(self): return sum(self.rows)";

#[test]
fn methods_use_up_a_stream_that_the_object_was_given() {
    let uses = "a = x.rest() | x.listed() | x.counted() | x.has(1) | x.unpacked() | x.lines() | x.parsed()
        x.array() | x.through()
        list(x.generated()) | x.texts()";
    for given in [
        "iter(data)",
        "open('a')",
        "(it for it in data)",
        "map(str, data)",
        "csv.reader(data)",
        "f=zip(data, data)",
    ] {
        let made = format!("{READER}\nx = Reader({given})");
        check(&made, uses, true);
    }
    for given in ["[1, 2]", "df", "values", "list(map(str, data))", "df['a'].tolist()", "load('a')"] {
        check(&format!("{READER}\nx = Reader({given})"), uses, false);
    }
    // The stream, the class and the object are of three cells.
    let story = |values: &str| {
        let mut story =
            Story::ran(&[values, READER, "x = Reader(values)", "a = x.rest()", "b = x.rest()", "b"]);
        story.edit("d", "a = x.rest()[1:]");
        story.states()[4].state != StaleState::UpToDate
    };
    assert!(story("values = iter(data)"));
    assert!(!story("values = [it for it in data]"));
}

#[test]
fn methods_use_up_a_stream_that_the_class_makes() {
    check_classes(
        r"
        class A:\n  def __init__(self, p):\n    self.f = open(p)\n  def rest(self): return list(self.f)\nx = A(1) :: x.rest()
        ",
        true,
    );
    check_classes(
        r"
        class A:\n  def __init__(self): self.items = []\n  def total(self): return sum(self.items)\nx = A() :: x.total()
        class A:\n  def __init__(self, data): self.data = data\n  def mean(self): return sum(self.data) / len(self.data)\nx = A([1]) :: x.mean()
        @dataclass\nclass A:\n  items: list[int] = field(default_factory=list)\n  def total(self): return sum(self.items)\nx = A() :: x.total()
        class A:\n  def __init__(self, p): self.a = np.array(p); self.b = pd.read_csv(p); self.c = Counter(p); self.d = p.split()\n  def go(self): return list(self.a) + list(self.b) + list(self.c) + [i for i in self.d]\nx = A(y) :: x.go()
        class A:\n  def __init__(self, p): self.a = dict(p) if p else {}\n  def go(self): return {k: v for k, v in self.a.items()}\nx = A(y) :: x.go()
        class A(nn.Module):\n  def __init__(self, n): self.a = nn.ModuleList([nn.Linear(n, n)])\n  def forward(self, y):\n    for it in self.a: y += it.n\n    return y\nx = A(3) :: x.forward(1)
        def load(): return [1]\nclass A:\n  def __init__(self): self.a = load()\n  def go(self): return sum(self.a)\nx = A() :: x.go()
        class B: pass\nclass A:\n  def __init__(self): self.a = [B(), B()]\n  def go(self): return [it.n for it in self.a]\nx = A() :: x.go()
        ",
        false,
    );
}

#[test]
fn methods_change_their_object_through_other_objects() {
    check_classes(
        r"
        x = f() :: x.__setitem__(0, 1) | x.__iadd__([1]) | x.__next__() | x.get_next()
        x = f() :: next(x.it) | operator.setitem(x, 0, 1)
        ",
        true,
    );
    check_classes(
        r"
        class A:\n  def m(self): q = sorted(self.q); q[0] = 1; q.append(2); return q\nx = A() :: x.m()
        class A:\n  def m(self): q = {'a': self.q}; q['b'] = 1; return q\nx = A() :: x.m()
        class A:\n  def m(self): return Row(self.a, [self.b]), max(self.c), len(self.d), str(self)\nx = A() :: x.m()
        class A:\n  def m(self): return list(map(str, self.items))\nx = A() :: x.m()
        class A:\n  def m(self): return self.df.mean(), self[0]\n  def __getitem__(self, i): return self.df[i]\nx = A() :: x.m()
        class A:\n  def total(self): return 1\nx = A()\nx.n = 3 :: x.total()
        x = f() :: x.__getitem__(0) | x.__iter__() | x.__len__()
        ",
        false,
    );
}

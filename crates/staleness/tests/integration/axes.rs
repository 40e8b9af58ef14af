//! Figures whose axes a loop or an unpacking gives.

use crate::table::{self, check, check_rows};

const MADE: &str = "import matplotlib.pyplot as plt | fig, axes = plt.subplots(1, 2)";

fn rows(text: &str) {
    for [cells, edit, states, planned] in table::rows(text) {
        check(&[(&format!("{MADE} | {cells} | fig"), &edit, &states, &planned)]);
    }
}

#[test]
fn what_a_loop_over_axes_draws_changes_their_figure() {
    rows(
        r"
        for ax in axes.flat: ax.set_title('t') :: c: 't' => 'u' :: ok ok edited input :: bcd
        for ax in axes: ax.plot(1) :: c: for ax in axes: ax.plot(2) :: ok ok edited input :: bcd
        for a in axes: a.hist(1) :: c: for a in axes: a.hist(2) :: ok ok edited input :: bcd
        for i, ax in enumerate(axes): ax.plot(i) :: c: i) => -i) :: ok ok edited input :: bcd
        for ax, c in zip(axes, 'rb'): ax.set_facecolor(c) :: c: rb => gb :: ok ok edited input :: bcd
        for i, (ax, c) in enumerate(zip(axes.ravel(), cs)): ax.bar(c, i) :: c: pass :: ok ok edited order
            :: bcd
        for row in axes:\n    for ax in row: ax.plot(1) :: c: 1 => 2 :: ok ok edited input :: bcd
        for ax in fig.get_axes(): ax.grid(True) :: c: True => False :: ok ok edited input :: bcd
        [ax.set_title(t) for ax, t in zip(axes, ts)] :: c: ts => ts[::-1] :: ok ok edited input :: bcd
        for ax in axes: df.plot(ax=ax) :: c: ax) => ax, kind='bar') :: ok ok edited input :: bcd
        for ax in axes: sns.histplot(df, ax=ax) :: c: df => d2 :: ok ok edited input :: bcd
        def style(all):\n    for ax in all: ax.grid(True)\nstyle(axes)
            :: c: def style(all):\n    for ax in all: ax.grid(False)\nstyle(axes) :: ok ok edited input :: bcd
        // It only reads.
        for ax in axes: print(ax.get_title()) :: c: get_title => get_xlabel :: ok ok edited ok :: c
        for ax in axes: n = 1 :: c: for ax in axes: n = 2 :: ok ok edited ok :: c
        ",
    );
}

#[test]
fn what_a_loop_over_other_items_changes() {
    check_rows(
        r"
        k = 1 | f, axs = plt.subplots(2)\nfor a in axs: a.plot(k) | f :: a: k = 2 :: edited input input :: abc
        k = 1 | f, ax = plt.subplots()\nax.plot(k) | f :: a: k = 2 :: edited input input :: abc
        fig, (p, q) = plt.subplots(2) | for ax in (p, q): ax.grid(True) | fig
            :: b: for ax in (p, q): ax.grid(False) :: ok edited input :: abc
        fig, (p, q) = plt.subplots(2) | for k, ax in {'p': p, 'q': q}.items(): ax.set_title(k) | fig
            :: b: for k, ax in {'r': p, 'q': q}.items(): ax.set_title(k) :: ok edited input :: abc
        fig, (p, q) = plt.subplots(2) | for k, ax in [('p', p), ('q', q)]: ax.set_title(k) | fig
            :: b: for k, ax in [('r', p), ('q', q)]: ax.set_title(k) :: ok edited input :: abc
        d = f() | for x in (d, 2): print(x) | d :: b: for x in (d, 3): print(x) :: ok edited ok :: b
        f, (left, right) = plt.subplots(2) | left.plot(1) | f :: b: 1 => 2 :: ok edited input :: abc
        df = f() | df.plot() | df :: b: df.plot(2) :: ok edited ok :: b
        ms = make() | for m in ms: m.set_params(a=1) | print(ms) :: b: 1 => 2 :: ok edited input :: abc
        // What is read of the items of other objects leaves them as they are.
        ds = make() | for d in ds: d.plot() | print(ds) :: b: for d in ds: d.plot(2) :: ok edited ok :: b
        ds = make() | for d in ds: d.load() | print(ds) :: b: for d in ds: d.load(2) :: ok edited ok :: b
        ",
    );
}

#[test]
fn what_unpacked_axes_draw_changes_their_figure() {
    rows(
        r"
        a, b = axes\na.set_xlabel('x') :: c: a, b = axes\na.set_xlabel('y') :: ok ok edited input :: bcd
        a, b = axes | a.plot(1) :: d: a.plot(2) :: ok ok ok edited input :: bcde
        a, b = axes | a.scatter(1) :: d: a.scatter(2) :: ok ok ok edited input :: bcde
        ax = axes[0] | ax.plot(1) :: d: ax.plot(2) :: ok ok ok edited input :: bcde
        (ax, _), (c, d) = axes | ax.plot(1) :: d: ax.plot(2) :: ok ok ok edited input :: bcde
        left, right = axes.flat | left.bar(1) :: d: left.bar(2) :: ok ok ok edited input :: bcde
        ",
    );
    check(&[
        ("ds = make() | a, b = ds\na.load() | print(ds)", "b: a, b = ds\na.load(2)", "ok edited ok", "b"),
        ("ds = make() | a, b = ds\na.fit(1) | print(ds)", "b: a, b = ds\na.fit(2)", "ok edited input", "abc"),
    ]);
}

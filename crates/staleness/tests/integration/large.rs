//! How long a large notebook takes.

use std::time::Instant;

use staleness::RandomUses;

use crate::story::Story;

#[test]
#[ignore = "a measurement: run it with optimisation, alone"]
fn a_thousand_cells() {
    let mut sources = vec!["import numpy as np\nimport pandas as pd\nnp.random.seed(0)".to_owned()];
    for index in 0..999 {
        sources.push(match index % 5 {
            0 => format!(
                "df{index} = pd.DataFrame(np.random.rand(10, 3), columns=list('abc'))\nprint(df{index}.shape)"
            ),
            1 => format!("df{0}['x'] = df{0}['a'] * 2\ntotal{0} = df{0}.sum()\ntotal{0}", index - 1),
            2 => format!(
                "def f{index}(frame, n=3):\n    out = frame.head(n)\n    return out * total{}",
                index - 2
            ),
            3 => format!(
                "fig, ax = plt.subplots()\nax.plot(f{}(df{}))\nax.set_title('t')",
                index - 1,
                index - 3
            ),
            _ => format!(
                "for i in range(3):\n    y{0} = total{0} + i\nif y{0}.any():\n    print(y{0}, df{0}.x)",
                index - 4
            ),
        });
    }
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let mut story = Story::ran(&sources);
    // As a server does that has judged the notebook before: it keeps what cells do with random states.
    let mut random = RandomUses::default();
    println!("at first: random states {:?}", story.prepared(&mut random).2);
    for (what, source) in [("nothing", sources[0].to_owned()), ("a seed", sources[0].replace("(0)", "(1)"))] {
        story.edit("c0", &source);
        let facts = story.prepared(&mut random);
        let mut states = Vec::new();
        // The least of several times is that in which nothing else ran.
        let times = (0..20).map(|_| {
            let started = Instant::now();
            states = story.judged(&facts);
            started.elapsed()
        });
        let judged = times.min().unwrap();
        let wanted: Vec<_> = (0..states.len()).collect();
        let started = Instant::now();
        let planned = staleness::plan(
            staleness::Facts {
                cells: &facts.0,
                runs: &facts.1,
                instance: facts.3,
                modules: &std::collections::BTreeMap::new(),
                clock: &|_| String::new(),
            },
            &states,
            &wanted,
            true,
        )
        .cells
        .len();
        println!(
            "{what} edited: judged in {judged:?}, {planned} planned in {:?}; random states {:?}",
            started.elapsed(),
            facts.2
        );
    }
}

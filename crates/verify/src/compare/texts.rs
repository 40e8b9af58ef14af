//! Whether two texts differ only in what differs from run to run.

use super::rerun::Rerun;
use super::volatile::{Pieces, steady};

/// Whether `before` and `after` are the same but for addresses, temporary paths, durations, and what the clock said. Where one of
/// these differs, amounts of space within a line do not count: it may be of another width.
pub(crate) fn are_same(before: &str, after: &str, rerun: &Rerun) -> bool {
    let (one, other) = (tidied(before), tidied(after));
    if one == other {
        return before == after || lines(before).eq(lines(after));
    }
    are_same_but(&one, &other, rerun, |one, other| one == other)
}

/// The same, where `is_same` compares the text between what may differ, piece by piece.
pub(crate) fn are_same_but(
    before: &str,
    after: &str,
    rerun: &Rerun,
    mut is_same: impl FnMut(&str, &str) -> bool,
) -> bool {
    let (mut left, mut right) = (Pieces::of(before), Pieces::of(after));
    loop {
        return match (left.next(), right.next()) {
            (Some(one), Some(other)) if is_same(one.text, other.text) && one.may_become(&other, rerun) => {
                continue;
            }
            (None, None) => is_same(left.rest(), right.rest()),
            _ => false,
        };
    }
}

/// Without space at their ends.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.trim_end().lines().filter_map(|line| steady(line.trim_end()))
}

/// The lines, with one space for several behind the indentation.
fn tidied(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    for line in lines(text) {
        tidied.push_str(&line[..line.len() - line.trim_start().len()]);
        let mut is_first = true;
        for word in line.split_whitespace() {
            if !std::mem::take(&mut is_first) {
                tidied.push(' ');
            }
            tidied.push_str(word);
        }
        tidied.push('\n');
    }
    tidied
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    /// The minute until 2026-11-23 12:00:00 UTC
    fn rerun() -> Rerun {
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_435_200);
        Rerun::new(end - Duration::from_secs(60)..end, [])
    }

    #[test]
    fn what_differs_from_run_to_run_is_the_same() {
        for (before, after) in [
            ("<A object at 0x7f01a2b3c4d5>", "<A object at 0x7fffa2b3c4d5>"),
            ("<function <la...x7f18a2b3c4d5>", "<function <la...x7fffa2b3c4d5>"),
            ("<function <lam…7f18a2b3c4d5>", "<function <lam…7fffa2b3c4d5>"),
            ("<function f at 0x7f...", "<function f at 0x7e..."),
            ("<method ...t 0x104b3c4d0>", "<method ...t 0x104b3c4f0>"),
            ("thread 139812345678912 starts", "thread 140112345678912 starts"),
            ("Thread ID: 139812345678912", "Thread ID: 140112345678912"),
            (
                "{'native_id': 41210, 'ident': 139812345678912}",
                "{'native_id': 51210, 'ident': 140112345678912}",
            ),
            (
                "<table id=\"T_3a729\">\n<th id=\"T_3a729_level0_col0\">",
                "<table id=\"T_596d1\">\n<th id=\"T_596d1_level0_col0\">",
            ),
            ("WaldTestStatistic, id: 0x7f904019bb90", "WaldTestStatistic, id: 0x7f90401ce650"),
            ("saved to /tmp/tmpab12/x.csv", "saved to /tmp/tmpzz99/x.csv"),
            ("/private/var/folders/x/y: 1", "/private/var/folders/z/y2: 1"),
            (r"C:\Users\me\AppData\Local\Temp\a1", r"C:\Users\me\AppData\Local\Temp\b2"),
            ("2025-01-01 10:11:12.123456", "2026-11-23 09:00:00"),
            ("made on 2024-02-29", "made on 2026-11-22"),
            ("Mon Jan 5 10:11:12 2025", "Mon Nov 23 12:00:00 2026"),
            ("Sunday, 21 December 2025", "Monday, 23 November 2026"),
            ("Mon Jan 05 10:11:12 UTC 2025", "Mon Nov 23 12:00:00 UTC 2026"),
            ("Today's date is: 21/12/16", "Today's date is: 23/11/26"),
            ("as of 12/21/2016", "as of 11/23/2026"),
            ("21.12.2016", "22.11.2026"),
            ("at 26/11/2025 21:48", "at 23/11/2026 09:07"),
            ("run_20251126_214800.log", "run_20261123_090702.log"),
            ("2016/12/21", "2026/11/23"),
            ("datetime.datetime(2018, 6, 1, 12, 33, 8, 310117)", "datetime.datetime(2026, 11, 23, 3, 6, 34)"),
            ("datetime.date(2018, 6, 1)", "datetime.date(2026, 11, 23)"),
            ("1700000000.123", "1795435201.5"),
            ("took 0:00:01.5", "took 0:00:02.25"),
            ("took 00:01:59", "took 00:02:01"),
            ("took 1:02:03.25", "took 2:03:04.5"),
            ("started at 08:30:07", "started at 11:59:30"),
            ("started at 08:30:07", "started at 17:29:59"),
            ("took 2.5 hours", "took 2.6 hours"),
            (
                "1.2 ms ± 3 µs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)",
                "970 µs ± 12 µs per loop (mean ± std. dev. of 7 runs, 100 loops each)",
            ),
            ("Wall time: 1min 3s", "Wall time: 1h 2min 3s"),
            (
                "CPU times: user 3 µs, sys: 0 ns, total: 3 µs\nWall time: 5.01 µs",
                "CPU times: user 12 ms, sys: 1 ms, total: 13 ms\nWall time: 14 ms",
            ),
            ("100%|██| 10/10 [00:00<00:00, 123.4it/s]", "100%|██| 10/10 [00:01<00:00,  9.10it/s]"),
            ("done in 3.2s", "done in 10s"),
            ("Cell In[3], line 1", "Cell In[17], line 1"),
            ("a b \n", "a b"),
            ("a   took 1.25 s", "a  took 10.25 s"),
            ("2025-01-01 12:00:00,123 INFO start", "2026-11-23 11:59:30,456 INFO start"),
            ("12:00:00,123 - root", "11:59:59,9 - root"),
            (
                "<Thread(Thread-5 (f), started 139812345678912)>",
                "<Thread(Thread-5 (f), started 140112345678912)>",
            ),
            (
                "<_MainThread(MainThread, started 139812345678912)>",
                "<_MainThread(MainThread, started 140112345678912)>",
            ),
            ("<Thread(T, started daemon 139812345678912)>", "<Thread(T, started daemon 140112345678912)>"),
            ("id 1b4e28ba-2fa1-41d2-883f-0016d3cca427", "id 6fa459ea-ee8a-4ca4-894e-db77e160355e"),
            (
                "<ForkProcess name='P-1' pid=4121 parent=4001 started>",
                "<ForkProcess name='P-1' pid=9121 parent=8001 started>",
            ),
            ("PID: 4121", "PID: 5121"),
            (
                "<DisplayHandle display_id=e569c250eaca8d8251e92e03d2c7f14d>",
                "<DisplayHandle display_id=0569c250eaca8d8251e92e03d2c7f14e>",
            ),
            (
                "The slowest run took 5.32 times longer than the fastest. This could mean that an intermediate result is being cached.\n1 µs ± 2 ns per loop",
                "3 µs ± 4 ns per loop",
            ),
            ("100 loops, best of 5: 2 ms per loop", "10 loops, best of 5: 3 ms per loop"),
            ("CPU times: user 1 s\nCompiler time: 0.12 s\nx", "CPU times: user 2 s\nx"),
            ("===== 3 passed in 0.12s =====", "==== 3 passed in 10.12s ===="),
            ("10it [00:01, 9.8it/s]", "10it [00:00, 19.8it/s]"),
            ("1/1 [==] - 0s 54ms/step - loss: 0.5", "1/1 [==] - 1s 3ms/step - loss: 0.5"),
            ("at 12.3 MB/s", "at 1.3 MB/s"),
            ("Elapsed time: 0.0123", "Elapsed time: 1.5"),
            ("1700000000123", "1795435201500"),
            ("/tmp/ipykernel_41/123.py:3: UserWarning", "/tmp/ipykernel_77/456.py:3: UserWarning"),
        ] {
            assert!(are_same(before, after, &rerun()), "{before} / {after}");
        }
    }

    #[test]
    fn other_differences_count() {
        for (before, after) in [
            ("0.123", "0.124"),
            ("row 10", "row 11"),
            ("2020-01-01 5", "2020-01-02 5"),
            ("2026-11-23", "2020-01-02"),
            ("21/12/16", "22/12/16"),
            ("10.20.30", "10.20.31"),
            ("datetime.date(2018, 6, 1)", "datetime.date(2018, 6, 2)"),
            ("1700000000", "1700000001"),
            ("x 0x7f01a2b3c4d5", "x"),
            ("3 ms", "3 MB"),
            ("12 min", "47 min"),
            ("mask 0xdeadbeef", "mask 0xcafebabe"),
            ("opens at 08:30:00", "opens at 17:50:00"),
            ("Mon Jan 6 2020", "Tue Feb 4 2021"),
            ("if x:\n    y", "if x:\n  y"),
            ("  indented", "indented"),
            ("a,  b", "a, b"),
            ("a\nb", "a b"),
            ("5 apples", "6 apples"),
            ("9e107d9d372bb6826bd81d3542a419d6", "e4d909c290d0fb1ca068ffaddf22cbd0"),
            ("886313e1-3b8a-5372-9b90-0c9aee199e5d", "2ed6657d-e927-568b-95e1-2665a8aea6a2"),
            ("pid 3", "pid 4"),
            ("thread 3", "thread 4"),
            ("x 139812345678912", "x 140112345678912"),
            ("commit ...deadbeef", "commit ...cafebabe"),
            ("===== 3 passed in 0.12s =====", "===== 2 passed in 0.12s ====="),
            (
                "<Thread(Thread-5 (f), started 139812345678912)>",
                "<Thread(Thread-6 (f), started 140112345678912)>",
            ),
            ("loss: 0.5 54ms/step", "loss: 0.6 54ms/step"),
            ("10/10 [00:00<00:00, 123.4it/s]", "9/10 [00:00<00:00, 123.4it/s]"),
            ("2025-01-01 12:00:00,123 INFO a", "2026-11-23 11:59:30,456 INFO b"),
            ("1500000000123", "1500000000124"),
            ("The slowest run took a break", "x"),
            ("[1:2, 3]", "[1:2, 4]"),
        ] {
            assert!(!are_same(before, after, &rerun()), "{before} / {after}");
        }
    }
}

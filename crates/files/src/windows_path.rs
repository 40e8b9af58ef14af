//! The meaning on Windows of a path that an agent passes, before the disk is asked.
//!
//! Windows gives paths meanings that lead anywhere: `C:x` is relative to the current folder of a drive, `\x` starts at its root,
//! `\\server\share` is another machine, `nul.txt` is no file, `a.txt:b` is a hidden part of `a.txt`, and `a.txt.` is `a.txt`.
//! None of them is needed to name a file of the folder, so all are refused.

use crate::letter_case::uppercase;

const DRIVE_RELATIVE: &str =
    "it is relative to the current folder of a drive; write it relative to this folder.";
const FROM_DRIVE_ROOT: &str = "it starts at a drive's root; write it relative to this folder.";
const SHARE_OR_DEVICE: &str = "it names a share or a device.";
pub(crate) const OUTSIDE: &str = "it is outside.";
const LEADS_OUT: &str = "it leads out of it.";
const CHARACTER: &str = "Windows has no files with one of `<>:\"|?*` or a control character in their names.";
const LAST_CHARACTER: &str = "Windows drops a dot or a space at the end of a name.";
const DEVICE: &str = "Windows takes this name for a device, not for a file.";

/// Names that mean a device in every folder, with any extension. `COM` and `LPT` come with a digit.
const DEVICES: [&str; 6] = ["AUX", "CON", "CONIN$", "CONOUT$", "NUL", "PRN"];
const NUMBERED_DEVICES: [&str; 2] = ["COM", "LPT"];

/// The names that lead from the root to the file, without `.` and `..`. `roots` are spellings of the root's absolute path. The
/// error says why the path is refused.
///
/// A path that starts with `/` is relative to the root, as everywhere in this program.
///
/// Examples for the root `C:\work`:
/// - `data/x.ipynb`, `data\x.ipynb`, `/data/x.ipynb`, `c:\WORK\data\x.ipynb` and `a\..\data\x.ipynb` lead to `data`, `x.ipynb`.
/// - `D:\x`, `C:x`, `\x`, `\\server\work\x`, `\\?\C:\work\x`, `..\x`, `nul`, `x:y`, `x.` are refused.
pub(crate) fn parts<'p>(path: &'p str, roots: &[&str]) -> Result<Vec<&'p str>, &'static str> {
    let mut parts = Vec::new();
    for part in from_root(path, roots)? {
        match part {
            "" | "." => {}
            // Windows does the same before it follows links.
            ".." => drop(parts.pop().ok_or(LEADS_OUT)?),
            name => {
                check_name(name)?;
                parts.push(name);
            }
        }
    }
    Ok(parts)
}

/// The parts of `path` after the root.
fn from_root<'p>(path: &'p str, roots: &[&str]) -> Result<Vec<&'p str>, &'static str> {
    let parts: Vec<&str> = path.split(is_separator).collect();
    let has_drive = parts[0].len() == 2 && parts[0].ends_with(':');
    // `C:\x` and `\\server\share`; `C:x` is neither absolute nor relative to anything known.
    let is_absolute = (has_drive && parts.len() > 1) || (parts.len() > 2 && parts[..2] == ["", ""]);
    if is_absolute {
        let rest = roots.iter().find_map(|root| after(&parts, root));
        return match rest {
            Some(rest) => Ok(rest.to_vec()),
            None if has_drive => Err(OUTSIDE),
            None => Err(SHARE_OR_DEVICE),
        };
    }
    if parts[0].as_bytes().get(1) == Some(&b':') {
        return Err(DRIVE_RELATIVE);
    }
    if path.starts_with('\\') {
        return Err(FROM_DRIVE_ROOT);
    }
    Ok(parts)
}

/// The parts behind those of `root`, if they start with them.
fn after<'a, 'p>(parts: &'a [&'p str], root: &str) -> Option<&'a [&'p str]> {
    let root = root.trim_end_matches(is_separator);
    let mut rest = parts;
    for expected in root.split(is_separator) {
        let (first, others) = rest.split_first()?;
        if uppercase(first) != uppercase(expected) {
            return None;
        }
        rest = others;
    }
    Some(rest)
}

fn is_separator(letter: char) -> bool {
    letter == '/' || letter == '\\'
}

/// Fails unless a name means a file, and this one.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.chars().any(|letter| letter < ' ' || "<>:\"|?*".contains(letter)) {
        return Err(CHARACTER);
    }
    if name.ends_with(['.', ' ']) {
        return Err(LAST_CHARACTER);
    }
    if is_device(name) { Err(DEVICE) } else { Ok(()) }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(' ').to_ascii_uppercase();
    let is_numbered = |device: &&str| {
        let mut number = stem.strip_prefix(*device).unwrap_or_default().chars();
        // Of the superscript digits, three are in Latin-1, and count.
        matches!((number.next(), number.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
    };
    DEVICES.contains(&stem.as_str()) || NUMBERED_DEVICES.iter().any(is_numbered)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: &str = r"C:\work\café";
    const SHARE: &str = r"\\server\share\work";

    fn of(path: &str) -> Result<Vec<&str>, &'static str> {
        parts(path, &[ROOT, SHARE])
    }

    #[test]
    fn all_spellings_lead_to_one_file() {
        for path in [
            "data/x.ipynb",
            r"data\x.ipynb",
            "/data//x.ipynb",
            "//server/share/work/data/x.ipynb",
            r"\\SERVER\share\Work\data\x.ipynb",
            r"C:\work\café\data\x.ipynb",
            "c:/WORK/CAFÉ/data/x.ipynb",
            r".\a b\..\data\.\x.ipynb",
        ] {
            assert_eq!(of(path), Ok(vec!["data", "x.ipynb"]), "{path}");
        }
        for root in ["", "/", ".", ROOT, r"C:\work\café\", "a/.."] {
            assert_eq!(of(root), Ok(vec![]), "{root}");
        }
        assert_eq!(parts(r"D:\x", &[r"D:\"]), Ok(vec!["x"]), "a drive is a root, too");
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for (path, why) in [
            (r"D:\work\x", OUTSIDE),
            (r"C:\work\cafés\x", OUTSIDE),
            (r"C:\windows\x.ipynb", OUTSIDE),
            ("C:x.ipynb", DRIVE_RELATIVE),
            ("c:", DRIVE_RELATIVE),
            (r"\x.ipynb", FROM_DRIVE_ROOT),
            (r"\\server\other\x", SHARE_OR_DEVICE),
            ("//server/other/x", SHARE_OR_DEVICE),
            (r"/\server\other", SHARE_OR_DEVICE),
            (r"\\?\C:\work\café\x", SHARE_OR_DEVICE),
            (r"\\.\pipe\x", SHARE_OR_DEVICE),
            ("//./COM1", SHARE_OR_DEVICE),
            (r"\??\C:\x", FROM_DRIVE_ROOT),
            ("..", LEADS_OUT),
            ("a/../../x", LEADS_OUT),
            (r"C:\work\café\..\x", LEADS_OUT),
        ] {
            assert_eq!(of(path), Err(why), "{path}");
        }
    }

    #[test]
    fn names_with_another_meaning_are_refused() {
        for name in ["x.ipynb:hidden.ipynb", "x:", "a:b:$DATA", "a*", "a?", "a|b", "<", "a\u{1}", "a\tb"] {
            assert_eq!(of(&format!("data/{name}")), Err(CHARACTER), "{name}");
        }
        for name in ["x.", "x ", "...", ". ", "x. ."] {
            assert_eq!(of(name), Err(LAST_CHARACTER), "{name}");
        }
        for name in
            ["nul", "NUL.ipynb", "con.tar.gz", "aux .txt", "Com1", "LPT9.x", "com¹", "CONIN$", "prn", "lpt0"]
        {
            assert_eq!(of(name), Err(DEVICE), "{name}");
        }
        for name in ["null", "com", "com10", "xcon", "con-1", ".nul", "COM1x", "übung.ipynb", "a.b"] {
            assert_eq!(of(name), Ok(vec![name]), "{name}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_path_is_made_of_plain_names(
            path in r"([cC]:|\\|/|\.\.|\.| |:|nul|work|café|CAFÉ|\?|server|share|x\.ipynb|com1|a){0,10}"
        ) {
            if let Ok(parts) = of(&path) {
                for part in parts {
                    prop_assert!(!part.is_empty() && part != "." && part != "..");
                    prop_assert!(!part.contains(['/', '\\', ':', '?']));
                    prop_assert!(!part.ends_with(['.', ' ']) && !is_device(part));
                }
            }
        }

        #[test]
        fn what_is_accepted_is_accepted_again(names in prop::collection::vec("[a-zä]{1,4}", 0..4)) {
            let relative = names.join("\\");
            let expected: Vec<&str> = names.iter().map(String::as_str).collect();
            if let Ok(found) = of(&relative) {
                prop_assert_eq!(&found, &expected);
                let absolute = format!("{ROOT}\\{relative}").to_uppercase();
                let found = of(&absolute).map(|found| found.len());
                prop_assert_eq!(found, Ok(expected.len()));
            }
        }
    }

    /// Where Windows finds what a path means, given the current folder: what `GetFullPathName` does, implemented from its
    /// documentation. `None` stands for what is no file in a folder of a drive: devices, pipes, shares, streams.
    fn as_windows_does(current: &str, path: &str) -> Option<Vec<String>> {
        let path = path.replace('/', r"\");
        let (drive, folder) = current.split_once(':')?;
        let (start, rest) = match path.as_bytes() {
            [b'\\', b'\\', ..] => return None,
            [b'\\', ..] => (format!("{drive}:"), path.clone()),
            [letter, b':', b'\\', ..] => (format!("{}:", char::from(*letter)), path[2..].to_owned()),
            // Relative to the current folder of the drive, which is not known for others than the current drive.
            [letter, b':', ..] if letter.eq_ignore_ascii_case(&drive.as_bytes()[0]) => {
                (format!("{drive}:"), format!(r"{folder}\{}", &path[2..]))
            }
            [_, b':', ..] => return None,
            _ => (format!("{drive}:"), format!(r"{folder}\{path}")),
        };
        let mut names = vec![start];
        for name in rest.split('\\') {
            match name {
                "" | "." => {}
                ".." => names.truncate((names.len() - 1).max(1)),
                name => names.push(name.trim_end_matches(['.', ' ']).to_owned()),
            }
        }
        names.retain(|name| !name.is_empty());
        let is_stream = names[1..].iter().any(|name| name.contains(':'));
        let devices = ["nul", "con", "aux", "prn", "conin$", "conout$", "com1", "lpt9", "com²"];
        let is_device = |name: &String| {
            let stem = name.split('.').next().unwrap_or_default().trim_end();
            devices.contains(&&*stem.to_lowercase())
        };
        (!is_stream && !names.iter().any(is_device)).then_some(names)
    }

    const PIECES: &str = r"([cCdD]:|\\|/|\.\.|\.| |:|[nN]ul|CON|conin\$|COM²|lpt9|work|café|CAFÉ|\?|server|x\.ipynb|com1|\$DATA|a){0,12}";

    proptest! {
        /// With the root as the current folder, Windows finds exactly the names that were accepted, below the root.
        #[test]
        fn windows_finds_an_accepted_path_below_the_root(path in PIECES) {
            if let Ok(parts) = of(&path) {
                let joined = [&[ROOT], &parts[..]].concat().join(r"\");
                let mut expected: Vec<String> = ROOT.split('\\').map(str::to_owned).collect();
                expected.extend(parts.iter().map(ToString::to_string));
                prop_assert_eq!(as_windows_does(r"D:\elsewhere", &joined), Some(expected.clone()));
                // A relative path means the same to Windows, unless it starts with `/`, which is the root of this program.
                if !path.starts_with('/') && !path.contains(':') {
                    prop_assert_eq!(as_windows_does(ROOT, &path), Some(expected));
                }
            }
        }
    }

    /// The same with the system's own function, in place of the model of it.
    #[cfg(windows)]
    mod on_windows {
        use super::*;

        proptest! {
            #[test]
            fn the_system_finds_an_accepted_path_below_the_root(path in PIECES) {
                if let Ok(parts) = of(&path) {
                    let joined = [&[ROOT], &parts[..]].concat().join(r"\");
                    prop_assert_eq!(std::path::absolute(&joined).unwrap(), std::path::PathBuf::from(joined));
                }
            }
        }
    }
}

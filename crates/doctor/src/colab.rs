//! What a Colab tab needs: a browser, a port on both loopback addresses, and the browser's permission; and the login for machines
//! without a tab.

pub(crate) mod login;

use std::path::PathBuf;
use std::time::Duration;

use colab::{BindError, Browser, Listener};

use super::finding::{Check, Finding};
use super::machine::Machine;
use crate::Options;
use crate::attempts::ConnectionAttempt;

const CHECK: Check = Check::Colab;

struct Facts {
    /// What would open the page; `None` if that is forbidden.
    browser: Option<Result<PathBuf, String>>,
    display: Display,
    /// Whether the port could be opened, and on `::1` too.
    port: Result<Port, BindError>,
    /// How a browser's last attempt to connect ended, and how long ago.
    attempt: Option<(ConnectionAttempt, Duration)>,
}

struct Port {
    number: u16,
    /// Whether it was asked for.
    is_chosen: bool,
    has_ipv6: bool,
}

/// Where a graphical browser could show a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Display {
    Present,
    /// The program runs in an SSH session without one.
    MissingInSsh,
    Missing,
}

pub(crate) fn check(machine: &Machine, options: &Options) -> Vec<Finding> {
    let listener = Listener::bind(options.tab_port);
    let port = listener.map(|listener| Port {
        number: listener.port(),
        is_chosen: options.tab_port != 0,
        has_ipv6: listener.has_ipv6(),
    });
    let browser = match &options.browser {
        Browser::Never => None,
        browser => Some(browser.program(|name| {
            let path = PathBuf::from(name);
            if path.is_absolute() {
                path.is_file().then_some(path)
            } else {
                machine.process_env.find_program(name)
            }
        })),
    };
    let attempt = ConnectionAttempt::read(&machine.process_env).map(|attempt| {
        let age = attempt.age(machine.now);
        (attempt, age)
    });
    findings(&Facts { browser, display: display(machine), port, attempt })
}

fn display(machine: &Machine) -> Display {
    let is_set = |name: &str| machine.process_env.get(name).is_some();
    // A command in $BROWSER needs no display: it may be a script that reaches another machine, or a text browser.
    let has_other_way = is_set("BROWSER") || is_set("WSL_DISTRO_NAME");
    if !cfg!(target_os = "linux") || has_other_way || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") {
        return Display::Present;
    }
    if is_set("SSH_CONNECTION") { Display::MissingInSsh } else { Display::Missing }
}

fn findings(facts: &Facts) -> Vec<Finding> {
    vec![browser_finding(facts), port(&facts.port), permission(), last_attempt(facts.attempt.as_ref())]
}

fn browser_finding(facts: &Facts) -> Finding {
    const SUBJECT: &str = "browser";
    const BY_HAND: &str = "Open the address in the answer of open_colab_browser_connection by hand.";
    match (&facts.browser, facts.display) {
        (None, _) => CHECK.ok(SUBJECT, format!("No browser is opened (--no-browser). {BY_HAND}")),
        (Some(Err(problem)), _) => CHECK.warning(SUBJECT, format!("{problem} {BY_HAND}")),
        (Some(Ok(program)), Display::Present) => CHECK.ok(SUBJECT, format!("{} opens it.", program.display())),
        (Some(Ok(_)), Display::Missing) => {
            CHECK.warning(SUBJECT, format!("There is no display (DISPLAY, WAYLAND_DISPLAY). {BY_HAND}"))
        }
        (Some(Ok(_)), Display::MissingInSsh) => CHECK.warning(
            SUBJECT,
            "There is no display in this SSH session. Give the tab a fixed port (--port 18585), and forward it from the \
             machine with the browser: ssh -L 18585:localhost:18585 and this machine.",
        ),
    }
}

fn port(port: &Result<Port, BindError>) -> Finding {
    const SUBJECT: &str = "port";
    match port {
        Ok(Port { number, is_chosen, has_ipv6 }) => {
            let which = if *is_chosen { format!("Port {number}") } else { "A port".to_owned() };
            let message = if *has_ipv6 {
                format!("{which} can be opened on 127.0.0.1 and ::1.")
            } else {
                format!(
                    "{which} can be opened on 127.0.0.1; this machine has no IPv6, and browsers work without it."
                )
            };
            CHECK.ok(SUBJECT, message)
        }
        Err(error) => CHECK.error(SUBJECT, format!("The tab cannot connect: {error}.")),
    }
}

/// Only the browser knows whether it is granted.
fn permission() -> Finding {
    CHECK.ok(
        "permission",
        "Chrome and Edge ask once whether colab.research.google.com may access apps and services on this device: answer \
         Allow. If it was blocked, click the icon left of the address, allow local network access, and reload. Safari \
         cannot connect.",
    )
}

fn last_attempt(attempt: Option<&(ConnectionAttempt, Duration)>) -> Finding {
    const SUBJECT: &str = "last attempt";
    match attempt {
        None => CHECK.ok(SUBJECT, "No browser has tried to connect yet."),
        Some((attempt, age)) if attempt.is_connected => {
            CHECK.ok(SUBJECT, format!("{}: {}", ago(*age), attempt.what))
        }
        Some((attempt, age)) => CHECK.warning(
            SUBJECT,
            format!(
                "{}: {} The answer of open_colab_browser_connection names the next step.",
                ago(*age),
                attempt.what
            ),
        ),
    }
}

/// `2 hours ago`, in the largest unit of which there is one.
fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    let (count, unit) = match minutes {
        0 => return "Just now".to_owned(),
        1..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::line;

    fn facts(browser: Option<Result<&str, &str>>, display: Display) -> Facts {
        let browser = browser.map(|found| found.map(PathBuf::from).map_err(str::to_owned));
        let port = Ok(Port { number: 4711, is_chosen: false, has_ipv6: true });
        Facts { browser, display, port, attempt: None }
    }

    #[test]
    fn a_browser_that_cannot_be_opened_is_named_with_what_to_do_instead() {
        let said = |browser, display| line(&findings(&facts(browser, display))[0]);
        assert_eq!(said(Some(Ok("/bin/xdg-open")), Display::Present), "ok browser: /bin/xdg-open opens it.");
        assert!(said(None, Display::Missing).starts_with("ok browser: No browser is opened"));
        let missing = said(Some(Err("No program.")), Display::Present);
        assert!(missing.starts_with("warning browser: No program. Open the address"), "{missing}");
        assert!(said(Some(Ok("/bin/xdg-open")), Display::Missing).contains("no display"));
        assert!(
            said(Some(Ok("/bin/xdg-open")), Display::MissingInSsh).contains("ssh -L 18585:localhost:18585")
        );
    }

    #[test]
    fn the_port_is_opened_on_both_addresses() {
        let said = |number, is_chosen, has_ipv6| line(&port(&Ok(Port { number, is_chosen, has_ipv6 })));
        assert_eq!(said(1, false, true), "ok port: A port can be opened on 127.0.0.1 and ::1.");
        assert_eq!(said(4711, true, true), "ok port: Port 4711 can be opened on 127.0.0.1 and ::1.");
        assert!(said(1, false, false).contains("no IPv6"));
        let taken = Listener::bind(0).unwrap();
        let refused = line(&port(&Err(Listener::bind(taken.port()).err().unwrap())));
        assert!(
            refused.starts_with("error port") && refused.contains(&taken.port().to_string()),
            "{refused}"
        );
    }

    #[test]
    fn the_last_attempt_is_told_with_its_age() {
        let kept = |is_connected, what: &str| ConnectionAttempt {
            time: std::time::SystemTime::UNIX_EPOCH,
            is_connected,
            what: what.to_owned(),
        };
        let said = |attempt, seconds| line(&last_attempt(Some(&(attempt, Duration::from_secs(seconds)))));
        assert_eq!(line(&last_attempt(None)), "ok last attempt: No browser has tried to connect yet.");
        assert_eq!(said(kept(true, "A tab connected."), 59), "ok last attempt: Just now: A tab connected.");
        let refused = said(kept(false, "A browser was refused: no."), 7300);
        assert!(
            refused.starts_with("warning last attempt: 2 hours ago: A browser was refused: no. The answer")
        );
        assert!(said(kept(false, "x"), 60).contains(": 1 minute ago: x"));
        assert!(said(kept(false, "x"), 3 * 86_400).contains(": 3 days ago: x"));
    }

    #[test]
    fn the_browser_s_permission_is_explained() {
        let said = line(&permission());
        assert!(said.starts_with("ok permission") && said.contains("Allow"), "{said}");
    }
}

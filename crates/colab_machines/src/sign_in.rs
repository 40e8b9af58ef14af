//! One attempt to sign in, without I/O: the address for the browser (RFC 6749 section 4.1, PKCE of RFC 7636), and what comes back
//! (loopback redirects of RFC 8252).

use std::fmt;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use connection::Secret;
use place::{Error, ErrorKind, Fault, NextStep};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::scopes::Scopes;
use crate::{Google, OAuthClient, Result};

const MAX_CODE: usize = 1024;

/// The secrets of an attempt. The code of another attempt is worth nothing without this one's `verifier`.
#[derive(Clone)]
pub struct SignIn {
    pub(crate) redirect_uri: String,
    pub(crate) verifier: String,
    state: Secret,
}

/// What an address or a pasted line has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The code, which is to be exchanged for tokens.
    Code(Secret),
    /// The person refused.
    Denied,
    /// Google refused, for this reason: lower-case letters and underscores.
    Refused(String),
    /// An answer to another attempt, or one that somebody invented.
    Foreign,
    /// No answer at all.
    Unrelated,
}

impl Answer {
    /// The code, or why there is none.
    pub fn code(self) -> Result<Secret> {
        let (cause, next) = match self {
            Self::Code(code) => return Ok(code),
            Self::Denied => (
                "You did not grant access to Colab, so you are not signed in.".to_owned(),
                NextStep::GrantAccess,
            ),
            Self::Refused(reason) => (format!("Google refused the login ({reason})."), NextStep::CheckClient),
            Self::Foreign | Self::Unrelated => {
                ("This is no answer to this login.".to_owned(), NextStep::SignIn)
            }
        };
        Err(Error::new(ErrorKind::Forbidden, cause, next).with_fault(Fault::Person))
    }
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignIn({})", self.redirect_uri)
    }
}

impl SignIn {
    /// An attempt whose answer is sent to this port of 127.0.0.1.
    pub fn new(port: u16) -> io::Result<Self> {
        let verifier = [Secret::generate()?, Secret::generate()?].map(|it| it.expose().to_owned()).concat();
        Ok(Self { redirect_uri: format!("http://127.0.0.1:{port}/"), verifier, state: Secret::generate()? })
    }

    /// The address where the person grants access. `offline` and `consent`: otherwise only the first attempt gets a refresh token.
    pub fn address(&self, google: &Google, client: &OAuthClient) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier));
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("response_type", "code")
            .append_pair("scope", &Scopes::requested().list())
            .append_pair("state", self.state.expose())
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("access_type", "offline")
            .append_pair("prompt", "consent")
            .finish();
        format!("{}?{query}", google.authorization)
    }

    /// Reads the query of a redirect.
    pub fn answer(&self, query: &str) -> Answer {
        let (mut code, mut error, mut state) = (None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match &*name {
                "code" => &mut code,
                "error" => &mut error,
                "state" => &mut state,
                _ => continue,
            };
            if field.replace(value.into_owned()).is_some() {
                return Answer::Foreign;
            }
        }
        if code.is_none() && error.is_none() {
            return Answer::Unrelated;
        }
        if !state.is_some_and(|state| self.state.matches(&state)) {
            return Answer::Foreign;
        }
        match (code.and_then(|code| valid_code(&code)), error.as_deref()) {
            (_, Some("access_denied")) => Answer::Denied,
            (_, Some(error)) => Answer::Refused(plain_reason(error)),
            (Some(code), None) => Answer::Code(code),
            (None, None) => Answer::Unrelated,
        }
    }

    /// Reads what the person has pasted: the address that the browser was sent to, or only the code in it. A code without a state is
    /// bound to this attempt by the verifier.
    pub fn pasted(&self, line: &str) -> Answer {
        let line = line.trim();
        if let Ok(url) = Url::parse(line)
            && url.has_host()
        {
            return self.answer(url.query().unwrap_or_default());
        }
        if line.contains('=') {
            return self.answer(line.trim_start_matches('?'));
        }
        let decoded = percent_encoding::percent_decode_str(line).decode_utf8_lossy();
        valid_code(&decoded).map_or(Answer::Unrelated, Answer::Code)
    }
}

/// Google's codes have such characters.
fn valid_code(code: &str) -> Option<Secret> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~+".contains(&byte);
    let is_code = (8..=MAX_CODE).contains(&code.len()) && code.bytes().all(is_plain);
    Secret::new(code).filter(|_| is_code)
}

/// A reason of the protocol, such as `invalid_scope`. Anything else could be a text of somebody else's, or a secret.
pub(crate) fn plain_reason(error: &str) -> String {
    let is_plain = error.len() <= 40 && error.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    if is_plain && !error.is_empty() { error.to_owned() } else { "unknown_error".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "4/0Ab_c-d.e";

    fn attempt() -> SignIn {
        SignIn {
            redirect_uri: "http://127.0.0.1:5000/".to_owned(),
            // The example of RFC 7636, appendix B.
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
            state: Secret::new("the-state").unwrap(),
        }
    }

    fn code() -> Answer {
        Answer::Code(Secret::new(CODE).unwrap())
    }

    #[test]
    fn the_address_has_the_challenge_and_not_the_verifier() {
        let client =
            OAuthClient { id: "1.apps.googleusercontent.com".into(), secret: Secret::new("hush").unwrap() };
        let address = attempt().address(&Google::default(), &client);
        let url = Url::parse(&address).unwrap();
        let query: Vec<_> = url.query_pairs().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            query,
            [
                "client_id=1.apps.googleusercontent.com",
                "redirect_uri=http://127.0.0.1:5000/",
                "response_type=code",
                "scope=openid https://www.googleapis.com/auth/userinfo.email \
                 https://www.googleapis.com/auth/colaboratory",
                "state=the-state",
                "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
                "code_challenge_method=S256",
                "access_type=offline",
                "prompt=consent",
            ]
        );
        assert!(address.starts_with("https://accounts.google.com/o/oauth2/v2/auth?"));
        assert!(!address.contains("dBjft") && !address.contains("hush"));
    }

    #[test]
    fn each_attempt_has_secrets_of_its_own() {
        let (one, other) = (SignIn::new(1).unwrap(), SignIn::new(1).unwrap());
        assert!(one.verifier != other.verifier && one.state != other.state);
        assert!((43..=128).contains(&one.verifier.len()));
        assert_eq!(format!("{one:?}"), "SignIn(http://127.0.0.1:1/)");
    }

    #[test]
    fn only_an_answer_with_the_state_counts() {
        for (query, expected) in [
            ("state=the-state&code=4/0Ab_c-d.e&scope=x", code()),
            ("code=4%2F0Ab_c-d.e&state=the-state", code()),
            ("error=access_denied&state=the-state", Answer::Denied),
            ("error=access_denied&code=4/0Ab_c-d.e&state=the-state", Answer::Denied),
            ("error=invalid_scope&state=the-state", Answer::Refused("invalid_scope".into())),
            ("error=%1b[31mBoo&state=the-state", Answer::Refused("unknown_error".into())),
            ("state=other&code=4/0Ab_c-d.e", Answer::Foreign),
            ("error=access_denied&state=other", Answer::Foreign),
            ("code=4/0Ab_c-d.e", Answer::Foreign),
            ("state=the-state&state=other&code=4/0Ab_c-d.e", Answer::Foreign),
            ("state=the-state&code=4/0Ab_c-d.e&code=4/other-code", Answer::Foreign),
            ("state=the-state&code=%00", Answer::Unrelated),
            ("state=the-state", Answer::Unrelated),
            ("", Answer::Unrelated),
        ] {
            assert_eq!(attempt().answer(query), expected, "{query}");
        }
    }

    #[test]
    fn an_answer_without_a_code_names_the_next_step() {
        assert_eq!(code().code().unwrap().expose(), CODE);
        for (answer, next, said) in [
            (Answer::Denied, NextStep::GrantAccess, "did not grant"),
            (Answer::Refused("org_internal".into()), NextStep::CheckClient, "(org_internal)"),
            (Answer::Foreign, NextStep::SignIn, "no answer"),
        ] {
            let error = answer.code().unwrap_err();
            assert!(error.next == next && error.cause.contains(said), "{error}");
        }
    }

    #[test]
    fn an_address_or_a_code_can_be_pasted() {
        for (line, expected) in [
            (" http://127.0.0.1:5000/?state=the-state&code=4/0Ab_c-d.e&scope=x \n", code()),
            ("?code=4/0Ab_c-d.e&state=the-state", code()),
            (CODE, code()),
            ("4%2F0Ab_c-d.e", code()),
            ("http://127.0.0.1:5000/?error=access_denied&state=the-state", Answer::Denied),
            ("http://127.0.0.1:5000/?code=4/0Ab_c-d.e&state=of-yesterday", Answer::Foreign),
            ("http://127.0.0.1:5000/", Answer::Unrelated),
            ("", Answer::Unrelated),
            ("what is this", Answer::Unrelated),
        ] {
            assert_eq!(attempt().pasted(line), expected, "{line}");
        }
    }
}

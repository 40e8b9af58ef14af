//! Lines that only `IPython` has: magics, shell commands, and questions about objects.

use ruff_python_ast::IpyEscapeKind;
use syntax::{
    Unknown, VARIABLES,
    magics::{self, LineMagic},
};

use super::Walker;

impl Walker {
    /// Reads what `IPython` replaces, unless it means something else, as `$HOME` does.
    pub(super) fn expand(&mut self, text: &str) {
        self.tolerant(|walker| magics::expanded(text).for_each(|name| walker.read(name)));
    }

    /// `x.name?` shows what is known of the object.
    pub(super) fn look_up(&mut self, text: &str) {
        let name = magics::words(text).next().map(ToOwned::to_owned);
        self.tolerant(|walker| name.iter().for_each(|name| walker.read(name)));
    }

    pub(super) fn escape(&mut self, kind: IpyEscapeKind, text: &str) {
        match kind {
            IpyEscapeKind::Help | IpyEscapeKind::Help2 => self.look_up(text),
            IpyEscapeKind::Magic | IpyEscapeKind::Magic2 => match magics::line(text) {
                LineMagic::Python(source) => self.walk_source(source),
                LineMagic::Function(source) => self.walk_as_function(source),
                LineMagic::Unknown(why) => self.collect(Err(why)),
                LineMagic::Text => {
                    self.names.binds_anything |= magics::may_bind_anything(text);
                    if magics::may_bind(text) {
                        self.names.may_bind(text);
                    }
                    self.expand(text);
                    self.sets_by_magic(text);
                    match text.split_once(char::is_whitespace).unwrap_or((text, "")) {
                        ("pinfo" | "pinfo2" | "psource" | "pdoc" | "pdef" | "pfile", name) => {
                            self.look_up(name);
                        }
                        ("who" | "whos" | "who_ls", _) => {
                            self.effects().uses.insert(VARIABLES.to_owned());
                        }
                        _ => {}
                    }
                }
            },
            IpyEscapeKind::Shell | IpyEscapeKind::ShCap => self.expand(text),
            IpyEscapeKind::Quote | IpyEscapeKind::Quote2 | IpyEscapeKind::Paren => {
                self.collect(Err(Unknown::DynamicCode { by: "a line that IPython calls".to_owned() }));
            }
        }
    }
}

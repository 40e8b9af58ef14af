//! What parts of the syntax tree say by themselves, without a walk.

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::{
    Alias, AnyNodeRef, Comprehension, Expr, Identifier, Pattern, PatternMatchAs, PatternMatchMapping,
    PatternMatchStar, Stmt, StmtWith,
};

use crate::NameSet;

/// The loops of a comprehension or a generator, and what it gives.
pub fn comprehension(expression: &Expr) -> Option<(&[Comprehension], Vec<&Expr>)> {
    Some(match expression {
        Expr::ListComp(list) => (&list.generators, vec![&*list.elt]),
        Expr::SetComp(set) => (&set.generators, vec![&*set.elt]),
        Expr::Generator(generator) => (&generator.generators, vec![&*generator.elt]),
        Expr::DictComp(dict) => {
            (&dict.generators, dict.key.as_deref().into_iter().chain([&*dict.value]).collect())
        }
        _ => return None,
    })
}

/// The name that an import binds: `a` for `a.b.c`.
pub fn imported(alias: &Alias) -> &str {
    match &alias.asname {
        Some(name) => name.as_str(),
        None => alias.name.split('.').next().unwrap_or_default(),
    }
}

/// The name that a pattern itself binds.
pub fn captured(pattern: &Pattern) -> Option<&Identifier> {
    let (Pattern::MatchAs(PatternMatchAs { name, .. })
    | Pattern::MatchStar(PatternMatchStar { name, .. })
    | Pattern::MatchMapping(PatternMatchMapping { rest: name, .. })) = pattern
    else {
        return None;
    };
    name.as_ref()
}

/// Whether a `with` statement swallows errors.
pub fn is_suppressing(block: &StmtWith) -> bool {
    block.items.iter().any(|item| {
        let Expr::Call(call) = &item.context_expr else { return false };
        let name = path_of(&call.func).last().copied();
        matches!(name, Some("suppress" | "raises" | "assertRaises" | "assertRaisesRegex"))
    })
}

/// The value of a string literal.
pub fn text_of(literal: &Expr) -> Option<String> {
    literal.as_string_literal_expr().map(|text| text.value.to_str().to_owned())
}

/// `plt`, `style`, `use` of `plt.style.use`; of a part of another expression, what follows it.
pub fn path_of(function: &Expr) -> Vec<&str> {
    let mut names = Vec::new();
    let mut part = function;
    while let Expr::Attribute(attribute) = part {
        names.push(attribute.attr.as_str());
        part = &attribute.value;
    }
    if let Expr::Name(name) = part {
        names.push(&name.id);
    }
    names.reverse();
    names
}

/// All names in expressions.
pub fn names_in<'e>(expressions: impl IntoIterator<Item = &'e Expr>) -> NameSet {
    let mut names = NameSet::default();
    let mut look = |node: AnyNodeRef<'_>, _| {
        names.extend(node.as_expr_name().map(|name| name.id.to_string()));
        true
    };
    let mut nodes = Nodes { depth: 0, look: &mut look };
    expressions.into_iter().for_each(|expression| nodes.visit_expr(expression));
    names
}

/// Goes through statements in the order of the source. `look` gets each node with its depth in the tree, and tells whether to look at
/// what is in it.
pub(crate) fn look_through(body: &[Stmt], look: &mut dyn FnMut(AnyNodeRef<'_>, usize) -> bool) {
    Nodes { depth: 0, look }.visit_body(body);
}

struct Nodes<'f> {
    depth: usize,
    look: &'f mut dyn FnMut(AnyNodeRef<'_>, usize) -> bool,
}

impl<'a> SourceOrderVisitor<'a> for Nodes<'_> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        self.depth += level_of(node);
        if (self.look)(node, self.depth) { TraversalSignal::Traverse } else { TraversalSignal::Skip }
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        self.depth -= level_of(node);
    }
}

fn level_of(node: AnyNodeRef<'_>) -> usize {
    usize::from(node.is_statement() || node.is_expression() || node.is_pattern())
}

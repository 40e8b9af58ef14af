//! Code that may not run, or not to its end: what it binds may be bound already, by cells above.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{
    ElifElseClause, ExceptHandler, Expr, MatchCase, Number, Stmt, StmtFor, StmtIf, StmtMatch, StmtTry,
    StmtWith,
};

use syntax::Name;

use super::Walker;

/// The names that code binds, as far as the walk has come.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// It binds them whenever it runs.
    pub(super) surely: BTreeSet<Name>,
    /// They count as bound in what follows: also what a loop binds, which hardly ever runs not once.
    pub(super) likely: BTreeSet<Name>,
}

impl Walker {
    /// Walks through code that may not run.
    pub(super) fn branch(&mut self, walk: impl FnOnce(&mut Self)) -> Branch {
        self.branches.push(Branch::default());
        walk(self);
        self.branches.pop().unwrap_or_default()
    }

    pub(super) fn is_bound(&self, name: &str) -> bool {
        self.branches.iter().any(|branch| branch.likely.contains(name))
    }

    /// The names of a branch are bound after it, too.
    fn joined(&mut self, branch: Branch) {
        if let Some(outer) = self.branches.last_mut() {
            outer.surely.extend(branch.surely);
            outer.likely.extend(branch.likely);
        }
    }

    /// One of the branches has run, and those that are `None` end what follows, too.
    fn one_of(&mut self, branches: Vec<Option<Branch>>) {
        let common = branches.into_iter().flatten().reduce(|one, other| Branch {
            surely: one.surely.intersection(&other.surely).cloned().collect(),
            likely: one.likely.intersection(&other.likely).cloned().collect(),
        });
        self.joined(common.unwrap_or_default());
    }

    fn body(&mut self, body: &[Stmt]) -> Option<Branch> {
        let branch = self.chosen(|walker| walker.visit_body(body));
        (!exits(body)).then_some(branch)
    }

    /// Walks through a branch that a condition chooses.
    fn chosen(&mut self, walk: impl FnOnce(&mut Self)) -> Branch {
        self.conditions += 1;
        let branch = self.branch(walk);
        self.conditions -= 1;
        branch
    }

    pub(super) fn walk_if(&mut self, block: &StmtIf) {
        self.visit_expr(&block.test);
        if is_true(&block.test) {
            self.visit_body(&block.body);
            block.elif_else_clauses.iter().for_each(|clause| drop(self.clause(clause)));
            return;
        }
        let mut branches = vec![self.body(&block.body)];
        let has_else = block.elif_else_clauses.last().is_some_and(|clause| clause.test.is_none());
        for clause in &block.elif_else_clauses {
            branches.push(self.clause(clause));
        }
        if !has_else {
            branches.push(Some(Branch::default()));
        }
        self.one_of(branches);
    }

    fn clause(&mut self, clause: &ElifElseClause) -> Option<Branch> {
        let branch = self.chosen(|walker| {
            clause.test.iter().for_each(|test| walker.visit_expr(test));
            walker.visit_body(&clause.body);
        });
        (!exits(&clause.body)).then_some(branch)
    }

    pub(super) fn walk_for(&mut self, block: &StmtFor) {
        self.visit_expr(&block.iter);
        let branch = self.branch(|walker| {
            walker.visit_expr(&block.target);
            walker.derive_items(&block.target, &block.iter);
            walker.visit_body(&block.body);
        });
        self.looped(branch);
        self.branch(|walker| walker.visit_body(&block.orelse));
    }

    pub(super) fn walk_while(&mut self, test: &Expr, body: &[Stmt], orelse: &[Stmt]) {
        self.visit_expr(test);
        let branch = self.branch(|walker| walker.visit_body(body));
        self.looped(branch);
        self.branch(|walker| walker.visit_body(orelse));
    }

    /// A loop may run not once, but hardly ever does.
    fn looped(&mut self, branch: Branch) {
        self.joined(Branch { likely: branch.likely, ..Branch::default() });
    }

    pub(super) fn walk_try(&mut self, block: &StmtTry, is_tolerant: bool) {
        let mut branches = Vec::new();
        let whole = self.branch(|walker| {
            if is_tolerant {
                walker.tolerant(|walker| walker.visit_body(&block.body));
            } else {
                walker.visit_body(&block.body);
            }
            walker.visit_body(&block.orelse);
        });
        branches.push(Some(whole));
        for handler in &block.handlers {
            let ExceptHandler::ExceptHandler(inner) = handler;
            let branch = self.branch(|walker| walker.visit_except_handler(handler));
            branches.push((!exits(&inner.body)).then_some(branch));
        }
        self.one_of(branches);
        self.visit_body(&block.finalbody);
    }

    pub(super) fn walk_match(&mut self, block: &StmtMatch) {
        self.visit_expr(&block.subject);
        let is_last_open = block.cases.last().is_some_and(is_open);
        let mut branches: Vec<_> = block
            .cases
            .iter()
            .map(|case| {
                let branch = self.chosen(|walker| walker.visit_match_case(case));
                (!exits(&case.body)).then_some(branch)
            })
            .collect();
        if !is_last_open {
            branches.push(Some(Branch::default()));
        }
        self.one_of(branches);
    }

    /// Whether the errors of the body end it, and nothing else: `with suppress(…):`
    pub(super) fn walk_suppressing(&mut self, block: &StmtWith) {
        block.items.iter().for_each(|item| self.visit_with_item(item));
        self.branch(|walker| walker.visit_body(&block.body));
    }

    /// Expressions that are evaluated for each item.
    pub(super) fn repeatedly<'e>(&mut self, expressions: impl Iterator<Item = &'e Expr>) {
        let branch = self.branch(|walker| expressions.for_each(|expression| walker.visit_expr(expression)));
        self.looped(branch);
    }

    /// Expressions that are evaluated only if an earlier one allows it.
    pub(super) fn perhaps<'e>(&mut self, expressions: impl IntoIterator<Item = &'e Expr>) {
        let expressions: Vec<_> = expressions.into_iter().collect();
        self.branch(|walker| expressions.into_iter().for_each(|expression| walker.visit_expr(expression)));
    }
}

/// Whether nothing behind the code runs.
fn exits(body: &[Stmt]) -> bool {
    match body.last() {
        Some(Stmt::Raise(_) | Stmt::Return(_) | Stmt::Continue(_) | Stmt::Break(_)) => true,
        Some(Stmt::Expr(statement)) => match &*statement.value {
            Expr::Call(call) => match &*call.func {
                Expr::Name(name) => matches!(name.id.as_str(), "exit" | "quit"),
                Expr::Attribute(attribute) => attribute.attr.as_str() == "exit",
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// `if True:`, `if 1:`
fn is_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(literal) => literal.value == Number::Int(1_u8.into()),
        _ => false,
    }
}

fn is_open(case: &MatchCase) -> bool {
    case.guard.is_none() && case.pattern.is_irrefutable()
}

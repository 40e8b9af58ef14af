//! Code that may not run, or not to its end: what it binds may be bound already, by cells above.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{
    ElifElseClause, ExceptHandler, Expr, MatchCase, Number, Stmt, StmtFor, StmtIf, StmtMatch, StmtTry,
    StmtWith,
};

use super::Walker;
use super::known::Branch;

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

    /// What was bound, is bound after this, too.
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
        self.looped(branch, has_items(&block.iter) && !can_leave(&block.body));
        self.branch(|walker| walker.visit_body(&block.orelse));
    }

    pub(super) fn walk_while(&mut self, test: &Expr, body: &[Stmt], orelse: &[Stmt]) {
        self.visit_expr(test);
        let branch = self.branch(|walker| walker.visit_body(body));
        self.looped(branch, is_true(test) && !can_leave(body));
        self.branch(|walker| walker.visit_body(orelse));
    }

    fn looped(&mut self, branch: Branch, is_sure: bool) {
        let surely = if is_sure { branch.surely } else { BTreeSet::new() };
        self.joined(Branch { surely, likely: branch.likely });
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
        self.looped(branch, false);
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

/// Whether a loop may end before its body does.
fn can_leave(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => true,
        Stmt::If(block) => {
            can_leave(&block.body) || block.elif_else_clauses.iter().any(|clause| can_leave(&clause.body))
        }
        Stmt::With(block) => can_leave(&block.body),
        Stmt::Try(block) => {
            let in_handlers =
                block.handlers.iter().any(|ExceptHandler::ExceptHandler(it)| can_leave(&it.body));
            in_handlers || can_leave(&block.body) || can_leave(&block.orelse) || can_leave(&block.finalbody)
        }
        Stmt::Match(block) => block.cases.iter().any(|case| can_leave(&case.body)),
        _ => false,
    })
}

/// `while True:`, `if 1:`
fn is_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(literal) => literal.value == Number::Int(1_u8.into()),
        _ => false,
    }
}

/// Whether a loop over it surely runs: `range(3)`, `[a, b]`
fn has_items(iterable: &Expr) -> bool {
    match iterable {
        Expr::List(list) => list.elts.iter().any(|item| !item.is_starred_expr()),
        Expr::Tuple(tuple) => tuple.elts.iter().any(|item| !item.is_starred_expr()),
        Expr::StringLiteral(text) => !text.value.is_empty(),
        Expr::Call(call) => {
            let Expr::Name(function) = &*call.func else { return false };
            let arguments = &call.arguments.args;
            let number = |value: &Expr| match value {
                Expr::NumberLiteral(literal) => match &literal.value {
                    Number::Int(value) => value.as_i64(),
                    _ => None,
                },
                _ => None,
            };
            match (function.id.as_str(), &**arguments) {
                ("range", [end]) => number(end).is_some_and(|end| end > 0),
                ("range", [start, end]) => {
                    number(start).zip(number(end)).is_some_and(|(start, end)| start < end)
                }
                ("enumerate" | "reversed" | "sorted" | "tqdm" | "trange", [of, ..]) => has_items(of),
                _ => false,
            }
        }
        _ => false,
    }
}

fn is_open(case: &MatchCase) -> bool {
    case.guard.is_none() && case.pattern.is_irrefutable()
}

//! The table of a server with an extension, beside another, and beside programs of their own.

/// What a line shows, in milliseconds or megabytes.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// Asked of the server without a program around it.
    pub(crate) baseline: Option<f64>,
    pub(crate) theirs: Option<f64>,
    pub(crate) ours: Option<f64>,
    /// Their program on stdio.
    pub(crate) theirs_beside: Option<f64>,
    /// Our program on stdio.
    pub(crate) ours_beside: Option<f64>,
    /// At most so much.
    pub(crate) most: Option<f64>,
    /// So many times less than their program on stdio.
    pub(crate) less: Option<f64>,
}

impl Row {
    /// How many times ours goes into each of theirs, theirs beside, and ours beside.
    fn ratios(&self) -> [Option<f64>; 3] {
        [self.theirs, self.theirs_beside, self.ours_beside].map(|other| Some(other? / self.ours?))
    }

    fn targets(&self) -> String {
        let verdict = |is_met| if is_met { "ok" } else { "MISSED" };
        let most = self
            .most
            .zip(self.ours)
            .map(|(most, ours)| format!("<= {}  {}", shown(Some(most), self.unit), verdict(ours <= most)));
        let less = self
            .less
            .zip(self.ratios()[1])
            .map(|(less, ratio)| format!(">= {less} x beside  {}", verdict(ratio >= less)));
        most.into_iter().chain(less).collect::<Vec<_>>().join(", ")
    }
}

/// Prints the lines below a head.
pub(crate) fn print(head: &str, rows: &[Row]) {
    println!(
        "\n{head:<34}{:>10}{:>11}{:>11}{:>12}{:>11}{:>20}",
        "", "theirs", "ours", "theirs", "ours", "to ours inside"
    );
    println!(
        "{:<34}{:>10}{:>11}{:>11}{:>12}{:>11}{:>9}{:>9}{:>9}  target",
        "", "baseline", "inside", "inside", "beside", "beside", "theirs", "t. bes.", "o. bes."
    );
    for row in rows {
        let [theirs, theirs_beside, ours_beside] = row.ratios().map(|ratio| shown(ratio, "x"));
        let figure = |figure| shown(figure, row.unit);
        let line = format!(
            "{:<34}{:>10}{:>11}{:>11}{:>12}{:>11}{theirs:>9}{theirs_beside:>9}{ours_beside:>9}  {}",
            row.what,
            figure(row.baseline),
            figure(row.theirs),
            figure(row.ours),
            figure(row.theirs_beside),
            figure(row.ours_beside),
            row.targets()
        );
        println!("{}", line.trim_end());
    }
}

fn shown(figure: Option<f64>, unit: &str) -> String {
    let digits = if unit == "ms" { 2 } else { 1 };
    figure.map_or("-".to_owned(), |figure| format!("{figure:.digits$} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_say_whether_they_are_met() {
        let row = |ours, theirs_beside| Row {
            unit: "ms",
            ours: Some(ours),
            theirs_beside: Some(theirs_beside),
            most: Some(3.0),
            less: Some(10.0),
            ..Row::default()
        };
        assert_eq!(row(2.0, 20.0).targets(), "<= 3.00 ms  ok, >= 10 x beside  ok");
        assert_eq!(row(4.0, 20.0).targets(), "<= 3.00 ms  MISSED, >= 10 x beside  MISSED");
        assert_eq!(Row { ours: Some(1.0), ..Row::default() }.targets(), "");
    }
}

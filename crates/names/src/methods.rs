//! Methods that only read, by name.

/// Methods of the types that cells use most (of Python, pandas, polars, numpy, plots) that leave their object as it is.
/// A type with another method of the same name is rare enough.
const READING: &str = "abs agg aggregate all any apply argmax argmin argsort assign astype capitalize cast \
    clip collect corr count cov cummax cummin cumprod cumsum decode describe diff difference dot drop \
    drop_duplicates dropna encode endswith equals ewm exists explode fetch ffill bfill fillna filter find first \
    flatten format get get_group glob group_by groupby head hist idxmax idxmin index info interpolate \
    intersection is_dir is_file isalpha isdigit isin isna isnull issubset items iterrows itertuples join keys kurt last \
    lazy lower lstrip map max mean median melt merge min mode nlargest notna notnull nsmallest nunique \
    partition pct_change pivot pivot_table pipe plot predict predict_proba prod quantile query rank read_text rename \
    replace resample reset_index reshape rindex rolling round rsplit rstrip sample score select select_dtypes \
    set_index shift show skew sort_index sort_values split splitlines startswith std strip sum swapaxes symmetric_difference \
    tail title to_csv to_dict to_dicts to_frame to_html to_json to_list to_markdown to_numpy to_pandas to_parquet \
    to_string tolist transform transpose union unique unstack stack upper value_counts values var where with_columns \
    with_suffix xs zfill";

pub(crate) fn only_reads(method: &str) -> bool {
    // What Python itself calls to show or compare.
    method.starts_with("__") || READING.split(' ').any(|known| known == method)
}

use std::collections::HashMap;

use super::*;

fn written(value: &Any) -> String {
    let mut out = Vec::new();
    any(value, 0, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_without_a_fraction_are_whole() {
    let float = |number| written(&Any::Number(Number::Float(number)));
    assert_eq!(float(3.0), "3");
    assert_eq!(float(-0.5), "-0.5");
    assert_eq!(float(1e300), "1e+300");
    assert_eq!(float(f64::NAN), "null");
    assert_eq!(float(f64::INFINITY), "null");
    assert_eq!(written(&Any::Number(Number::Int(i64::MIN))), i64::MIN.to_string());
}

#[test]
fn members_are_sorted_and_undefined_ones_left_out() {
    let map: HashMap<String, Any> = [
        ("b".to_owned(), Any::Null),
        ("a\"".to_owned(), Any::from(vec![Any::Undefined, Any::Bool(true)])),
        ("u".to_owned(), Any::Undefined),
        ("é".to_owned(), Any::from("\u{1f600}\n")),
    ]
    .into();
    assert_eq!(written(&Any::from(map)), "{\"a\\\"\":[null,true],\"b\":null,\"é\":\"\u{1f600}\\n\"}");
}

//! How RRDtool sorts: its comparison is no total order (every finite number is greater than `INF`
//! as the second operand), so the result depends on the algorithm, glibc's merge sort.

use std::cmp::Ordering;

/// RRDtool's comparison: unknown first, then `-INF`, numbers, `INF`, as far as it is one.
pub fn compare(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        (false, false) => {}
    }
    let sign = |value: f64| if value > 0.0 { Ordering::Greater } else { Ordering::Less };
    if left.is_infinite() {
        return sign(left);
    }
    if right.is_infinite() {
        return sign(right);
    }
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Sorts as the operators of an expression do, on a machine with glibc.
pub fn sort(values: &mut [f64]) {
    merge_sort(values, &mut Vec::with_capacity(values.len()), Ordering::Equal);
}

/// Sorts as PERCENT of a `VDEF` does: there, a number is greater than its equal.
pub fn sort_of_vdef(values: &mut [f64]) {
    merge_sort(values, &mut Vec::with_capacity(values.len()), Ordering::Greater);
}

fn merge_sort(values: &mut [f64], scratch: &mut Vec<f64>, of_equals: Ordering) {
    if values.len() <= 1 {
        return;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    merge_sort(left, scratch, of_equals);
    merge_sort(right, scratch, of_equals);
    scratch.clear();
    let (mut from_left, mut from_right) = (0, 0);
    while from_left < left.len() && from_right < right.len() {
        let (next_left, next_right) = (left[from_left], right[from_right]);
        let order = if next_left == next_right && next_left.is_finite() {
            of_equals
        } else {
            compare(next_left, next_right)
        };
        if order == Ordering::Greater {
            scratch.push(next_right);
            from_right += 1;
        } else {
            scratch.push(next_left);
            from_left += 1;
        }
    }
    scratch.extend_from_slice(&left[from_left..]);
    let merged = scratch.len();
    values[..merged].copy_from_slice(scratch);
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFINITY: f64 = f64::INFINITY;

    /// Each was sorted by rrdtool 1.7.2.
    #[test]
    fn infinite_values_are_out_of_order_as_in_rrdtool() {
        let cases = [
            ([INFINITY, INFINITY, 2.0, 1.0], [1.0, 2.0, INFINITY, INFINITY]),
            ([INFINITY, 2.0, INFINITY, 1.0], [1.0, INFINITY, 2.0, INFINITY]),
            ([3.0, -INFINITY, -INFINITY, 1.0], [3.0, -INFINITY, -INFINITY, 1.0]),
        ];
        for (mut values, sorted) in cases {
            sort(&mut values);
            assert_eq!(values, sorted);
        }
        let mut values = [12.0, INFINITY, 12.0];
        sort_of_vdef(&mut values);
        assert_eq!(values, [12.0, INFINITY, 12.0]);
        sort(&mut values);
        assert_eq!(values, [12.0, 12.0, INFINITY]);
    }
}

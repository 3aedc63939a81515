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

/// Sorts as RRDtool does on a machine with glibc.
pub fn sort(values: &mut [f64]) {
    let all_finite = values.iter().all(|value| !value.is_infinite());
    if all_finite {
        // A total order: every stable sort gives the same.
        values.sort_by(|left, right| compare(*left, *right));
    } else {
        merge_sort(values, &mut Vec::with_capacity(values.len()));
    }
}

fn merge_sort(values: &mut [f64], scratch: &mut Vec<f64>) {
    if values.len() <= 1 {
        return;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    merge_sort(left, scratch);
    merge_sort(right, scratch);
    scratch.clear();
    let (mut from_left, mut from_right) = (0, 0);
    while from_left < left.len() && from_right < right.len() {
        if compare(left[from_left], right[from_right]) == Ordering::Greater {
            scratch.push(right[from_right]);
            from_right += 1;
        } else {
            scratch.push(left[from_left]);
            from_left += 1;
        }
    }
    scratch.extend_from_slice(&left[from_left..]);
    let merged = scratch.len();
    values[..merged].copy_from_slice(scratch);
}

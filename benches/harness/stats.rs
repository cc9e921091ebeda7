//! Order statistics of measured times.

/// The value below which `percent` of the measurements lie (nearest rank); NaN of none.
pub fn percentile(values: &[f64], percent: f64) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank within the list")]
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The middle measurement.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50.0)
}

/// The arithmetic mean; NaN of none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Fails when the formulas above no longer give values worked out by hand.
#[expect(clippy::float_cmp, reason = "these values are exact")]
pub fn self_check() {
    let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    assert_eq!([50.0, 95.0, 99.0, 100.0].map(|p| percentile(&hundred, p)), [50.0, 95.0, 99.0, 100.0]);
    assert_eq!([percentile(&[7.0], 1.0), median(&[3.0, 1.0, 2.0]), mean(&[1.0, 2.0, 6.0])], [7.0, 2.0, 3.0]);
}

//! Normalises the vectors of models.

use crate::provider::ProviderError;

/// Scales to unit length, so that the dot product of two vectors is their cosine.
///
/// # Errors
/// It has another dimension than the model, or no direction.
pub fn unit(vector: Vec<f32>, dimension: usize, provider: &str) -> Result<Vec<f32>, ProviderError> {
    if vector.len() != dimension {
        return Err(ProviderError::unusable(format!(
            "{provider} gives vectors of {} numbers where {dimension} are expected; set the model or its dimension \
             anew with `cerebro model use`",
            vector.len()
        )));
    }
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return Err(ProviderError::Refused {
            provider: provider.to_owned(),
            reason: "its vector has no direction".to_owned(),
        });
    }
    #[expect(clippy::cast_possible_truncation, reason = "a number of a unit vector fits")]
    let scaled = vector.into_iter().map(|x| (f64::from(x) / length) as f32).collect();
    Ok(scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_direction_of_the_right_dimension_is_a_vector() {
        for long in [[3.0, 4.0], [3e30, 4e30]] {
            let unit = unit(long.to_vec(), 2, "x").unwrap();
            assert!((unit[0] - 0.6).abs() < 1e-6 && (unit[1] - 0.8).abs() < 1e-6, "{unit:?}");
        }
        assert!(matches!(unit(vec![1.0], 2, "x"), Err(ProviderError::Unusable(_))));
        for none in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
            assert!(matches!(unit(none.to_vec(), 2, "x"), Err(ProviderError::Refused { .. })), "{none:?}");
        }
    }
}

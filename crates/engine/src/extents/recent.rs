//! A bounded memory of what was used lately, in two generations: when the young one is full it becomes the old one,
//! and what was old and not used since is forgotten. Constant time, and within a factor of two of the limit.

use std::collections::HashMap;
use std::hash::Hash;

pub(crate) struct Recent<K, V> {
    limit: usize,
    weight: usize,
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
}

impl<K: Hash + Eq + Clone, V: Clone> Recent<K, V> {
    /// Keeps up to `limit` of weight.
    pub fn new(limit: usize) -> Self {
        Self { limit: limit / 2, weight: 0, young: HashMap::new(), old: HashMap::new() }
    }

    pub fn get(&mut self, key: &K) -> Option<V> {
        if let Some((value, _)) = self.young.get(key) {
            return Some(value.clone());
        }
        let (value, weight) = self.old.remove(key)?;
        self.insert(key.clone(), value.clone(), weight);
        Some(value)
    }

    pub fn insert(&mut self, key: K, value: V, weight: usize) {
        if self.weight + weight > self.limit {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        self.weight += weight;
        if let Some((_, replaced)) = self.young.insert(key, (value, weight)) {
            self.weight -= replaced.min(self.weight);
        }
    }

    pub fn remove(&mut self, key: &K) {
        if let Some((_, weight)) = self.young.remove(key) {
            self.weight -= weight.min(self.weight);
        }
        self.old.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_rest_goes() {
        let mut recent = Recent::new(8);
        for key in 0..100 {
            recent.insert(key, key, 1);
            assert_eq!(recent.get(&0), Some(0), "used all the time");
            assert!(recent.young.len() + recent.old.len() <= 8);
        }
        assert_eq!(recent.get(&50), None);
        recent.remove(&0);
        assert_eq!(recent.get(&0), None);
    }
}

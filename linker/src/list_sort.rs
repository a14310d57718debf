//! The sort behind every order of shared variables that nvlink writes.

/// Sorts as nvlink sorts its lists: split by *prepending* alternately to two
/// lists, sort both, merge; where `before` holds neither way the second list
/// goes first. Equal elements come out in a fixed order that no stable sort
/// gives, and that order is visible in addresses.
pub(crate) fn list_sort<T>(list: Vec<T>, before: impl Fn(&T, &T) -> bool + Copy) -> Vec<T> {
    if list.len() < 2 {
        return list;
    }
    let mut halves = [Vec::new(), Vec::new()];
    for (index, element) in list.into_iter().enumerate() {
        halves[index % 2].push(element);
    }
    let [mut first, mut second] = halves;
    first.reverse();
    second.reverse();
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let mut first = list_sort(first, before).into_iter().peekable();
    let mut second = list_sort(second, before).into_iter().peekable();
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        let next = if before(a, b) {
            first.next()
        } else {
            second.next()
        };
        merged.extend(next);
    }
    merged.extend(first);
    merged.extend(second);
    merged
}

#[cfg(test)]
mod tests {
    use super::list_sort;

    #[test]
    fn it_sorts() {
        let sorted = list_sort(vec![3, 1, 4, 1, 5, 9, 2, 6], |a, b| a > b);
        assert_eq!(sorted, [9, 6, 5, 4, 3, 2, 1, 1]);
    }

    #[test]
    fn equal_elements_keep_nvlinks_order() {
        let sorted = list_sort(vec![(1, 'a'), (1, 'b'), (1, 'c'), (1, 'd')], |a, b| {
            a.0 > b.0
        });
        let names: String = sorted.into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, "bdac");
    }
}

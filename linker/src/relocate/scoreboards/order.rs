//! The order in which blocks choose their scoreboards.
//!
//! A block comes before those that follow it, as far as loops allow. Of the
//! blocks that follow one, those come first that a set of nvlink lists first: it
//! hashes their numbers.

/// How many lists a set has at first, by what factor their number grows, and how
/// many members for each it holds before it does.
const LISTS: usize = 8;
const GROWTH: usize = 4;
const LOAD: usize = 3;

/// The blocks that control comes to from the first one, by the blocks that
/// follow each, which were added to sets in that order.
pub(super) fn reverse_postorder(followers: &[Vec<usize>]) -> Vec<usize> {
    let mut is_seen = vec![false; followers.len()];
    let mut order = Vec::with_capacity(followers.len());
    // Blocks under way, with those behind them that are still to come.
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut entered = (!followers.is_empty()).then_some(0);
    loop {
        if let Some(block) = entered.take() {
            is_seen[block] = true;
            open.push((block, listed(&followers[block])));
        }
        let Some((block, ahead)) = open.last_mut() else {
            break;
        };
        match ahead.pop() {
            Some(next) => entered = (!is_seen[next]).then_some(next),
            None => {
                order.push(*block);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The members of a set in the order in which it lists them: from its last list
/// to its first, and in each from the newest to the oldest.
fn listed(added: &[usize]) -> Vec<usize> {
    let mut members: Vec<usize> = Vec::with_capacity(added.len());
    for &block in added {
        if !members.contains(&block) {
            members.push(block);
        }
    }
    let mut lists = LISTS;
    while members.len() > LOAD * lists {
        lists *= GROWTH;
    }
    members.reverse();
    members.sort_by_key(|&block| std::cmp::Reverse(hash(block) as usize % lists));
    members
}

/// FNV-1a of a number of four bytes.
fn hash(block: usize) -> u32 {
    let bytes = (block as u32).to_le_bytes();
    bytes.iter().fold(0x811c_9dc5, |hash: u32, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_list_blocks_by_their_hash() {
        let blocks: Vec<usize> = (1..=23).collect();
        let expected = [
            18, 10, 2, 19, 11, 3, 16, 8, 17, 9, 1, 22, 14, 6, 23, 15, 7, 20, 12, 4, 21, 13, 5,
        ];
        assert_eq!(listed(&blocks), expected);
        // What was added last comes first, where the lists are the same.
        assert_eq!(listed(&[17, 9, 1]), [1, 9, 17]);
        assert_eq!(listed(&[9, 1, 9]), [1, 9]);
        // More members have more lists.
        let blocks: Vec<usize> = (1..=30).collect();
        assert_eq!(listed(&blocks)[..8], [10, 27, 8, 25, 14, 12, 29, 2]);
    }

    #[test]
    fn blocks_come_before_those_that_follow() {
        // A loop of two blocks, and one behind it.
        let loops = [vec![1], vec![2], vec![3, 1], vec![]];
        assert_eq!(reverse_postorder(&loops), [0, 1, 2, 3]);
        // Two ways that meet.
        let ways = [vec![1, 2], vec![3], vec![3], vec![]];
        assert_eq!(reverse_postorder(&ways), [0, 2, 1, 3]);
        // Nothing leads to the last one.
        assert_eq!(reverse_postorder(&[vec![], vec![]]), [0]);
        assert!(reverse_postorder(&[]).is_empty());
    }
}

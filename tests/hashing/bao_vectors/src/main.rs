// SPDX-License-Identifier: Apache-2.0
//! Prints what the bao-tree crate makes of the blobs of sample_blobs.h, 16 KiB groups, as lines for bao_vectors.txt:
//!   blob  SIZE DIGEST DIGEST_OF_PRE_ORDER_OUTBOARD DIGEST_OF_POST_ORDER_OUTBOARD
//!   slice SIZE OFFSET LENGTH BYTES_OF_SLICE DIGEST_OF_SLICE
use bao_tree::io::outboard::{PostOrderMemOutboard, PreOrderMemOutboard};
use bao_tree::io::sync::encode_ranges_validated;
use bao_tree::io::{round_up_to_chunks, round_up_to_chunks_groups};
use bao_tree::{BlockSize, ByteRanges, ChunkNum, ChunkRanges};

const GROUPS: BlockSize = BlockSize::from_chunk_log(4);
const GROUP_BYTES: u64 = 16384;

/// As SampleBlob(size, 1) of sample_blobs.h.
fn sample(size: u64) -> Vec<u8> {
    let mut state: u64 = 0x9E3779B97F4A7C15;
    (0..size)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        })
        .collect()
}

/// The chunks of the groups that the range touches; of the last group if it touches none.
fn chunks(size: u64, offset: u64, length: u64) -> ChunkRanges {
    let end = offset.saturating_add(length).min(size);
    if offset < end {
        round_up_to_chunks_groups(round_up_to_chunks(&ByteRanges::from(offset..end)), GROUPS)
    } else {
        let last_group = size.saturating_sub(1) / GROUP_BYTES;
        ChunkRanges::from(ChunkNum(last_group * 16)..)
    }
}

fn main() {
    let g = GROUP_BYTES;
    let sizes = [
        0, 1, 1024, 1025, g - 1, g, g + 1, 2 * g - 1, 2 * g, 2 * g + 1, 3 * g, 3 * g + 5, 4 * g, 5 * g - 1024, 7 * g + 100,
        8 * g, 8 * g + 1, 13 * g + 12345, 16 * g, 17 * g, 31 * g + 1, 33 * g - 1, 64 * g + 7000,
    ];
    for size in sizes {
        let data = sample(size);
        let pre = PreOrderMemOutboard::create(&data, GROUPS);
        let post = PostOrderMemOutboard::create(&data, GROUPS);
        println!("blob {size} {} {} {}", pre.root, blake3::hash(&pre.data), blake3::hash(&post.data));
        let mut ranges = vec![(0, size), (0, 1), (0, 0), (size, 10), (size.saturating_sub(1), 1), (size / 2, 1), (size / 3, size / 3)];
        ranges.extend([(g, g), (g - 1, 2), (2 * g + 5, g), (0, u64::MAX), (size / 2, u64::MAX), (u64::MAX, u64::MAX)]);
        for (offset, length) in ranges {
            let mut slice = Vec::new();
            encode_ranges_validated(&data[..], &pre, &chunks(size, offset, length), &mut slice).unwrap();
            println!("slice {size} {offset} {length} {} {}", slice.len(), blake3::hash(&slice));
        }
    }
}

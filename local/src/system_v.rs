//! System V shared memory that outlives a server which was killed: PostgreSQL keeps a piece, by
//! which it knows that nobody else uses its data, and names it in a file there.

use nix::libc::{IPC_RMID, IPC_STAT, key_t, shmctl, shmid_ds};
use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::null_mut;

/// The file of a PostgreSQL's data that names it, and the line that does.
const FILE: &str = "postmaster.pid";
const LINE: usize = 6;

/// Removes the shared memory that a dead server with this data has left, if it has; as soon as the
/// last of its processes has ended.
pub fn remove_shared_memory(data: &Path) {
    let Ok(text) = fs::read_to_string(data.join(FILE)) else { return };
    if let Some((key, id)) = named(&text)
        && is_there(key, id)
    {
        remove(id);
    }
}

/// The key and the number of the shared memory.
fn named(text: &str) -> Option<(key_t, i32)> {
    let mut numbers = text.lines().nth(LINE)?.split_whitespace();
    let key: u32 = numbers.next()?.parse().ok()?;
    Some((key as key_t, numbers.next()?.parse().ok()?))
}

/// Returns true if it is there under this key.
#[expect(unsafe_code, reason = "the system call has no other interface")]
fn is_there(key: key_t, id: i32) -> bool {
    let mut status = MaybeUninit::<shmid_ds>::zeroed();
    // SAFETY: the kernel fills in the structure, of which any bytes are a value, and keeps no
    // pointer.
    let status = unsafe {
        if shmctl(id, IPC_STAT, status.as_mut_ptr()) != 0 {
            return false;
        }
        status.assume_init()
    };
    status.shm_perm.__key == key
}

#[expect(unsafe_code, reason = "the system call has no other interface")]
fn remove(id: i32) {
    // SAFETY: it is given no pointer. Another one that cleans may be quicker, and then it fails.
    unsafe {
        shmctl(id, IPC_RMID, null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::libc::{IPC_CREAT, IPC_EXCL, shmget};

    #[expect(unsafe_code, reason = "the system call has no other interface")]
    fn make(key: key_t) -> i32 {
        // SAFETY: it is given no pointer.
        let id = unsafe { shmget(key, 64, IPC_CREAT | IPC_EXCL | 0o600) };
        assert!(id >= 0, "it is made");
        id
    }

    #[test]
    fn what_a_file_names_is_removed_and_nothing_else() {
        let key = (std::process::id() | 0x5000_0000) as key_t;
        let id = make(key);
        let data = std::env::temp_dir().join(format!("system-v-{}", std::process::id()));
        fs::create_dir_all(&data).unwrap();
        let say = |key: key_t| {
            let text = format!("1\n/data\n2\n5432\n\n127.0.0.1\n  {key}  {id}\nready   \n");
            fs::write(data.join(FILE), text).unwrap();
        };
        remove_shared_memory(&data);
        say(key + 1);
        remove_shared_memory(&data);
        assert!(is_there(key, id), "the key is another");
        say(key);
        remove_shared_memory(&data);
        assert!(!is_there(key, id));
        fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn a_file_of_a_server_that_has_not_begun_names_none() {
        assert_eq!(named("1\n/data\n2\n5432\n"), None);
        assert_eq!(named(""), None);
        assert_eq!(named("1\n2\n3\n4\n5\n6\n 3147483648  7\n"), Some((-1_147_483_648, 7)));
    }
}

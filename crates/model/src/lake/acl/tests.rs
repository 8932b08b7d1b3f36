use super::*;

const ID: &str = "68390a19-a643-458b-b726-408abf67b4fc";

fn control(mode: u16) -> AccessControl {
    AccessControl::new("$superuser", "$superuser", Mode::of(mode))
}

/// Permissions as the service was observed to take and answer them.
#[test]
fn permissions_are_read_masked_and_shown() {
    for (permissions, umask, shown) in [
        ("0777", None, "rwxr-x---"),
        ("0777", Some("0057"), "rwx-w----"),
        ("---------", Some("0000"), "---------"),
        ("0777", Some("0000"), "rwxrwxrwx"),
        ("rwxr--r--", Some("0000"), "rwxr--r--"),
        ("rw---x--T", Some("0000"), "rw---x--T"),
        ("rw---x--t", Some("0000"), "rw---x--t"),
        ("1777", Some("0000"), "rwxrwxrwt"),
    ] {
        let umask = umask.map_or(Mode::UMASK, |umask| Mode::parse(umask).unwrap());
        let mode = Mode::parse(permissions).unwrap().masked(umask);
        assert_eq!(AccessControl::new("", "", mode).permissions(), shown, "{permissions} {umask:?}");
    }
    for bad in ["asdf", "", "777", "07777", "0788", "rwxrwxrw", "rwxrwxrwz", "xwrrwxrwx", "rwtrwxrwx"] {
        assert_eq!(Mode::parse(bad), Err(Refusal::InvalidPermission), "{bad}");
    }
}

#[test]
fn lists_are_answered_in_order() {
    for (sent, acl, permissions) in [
        ("user::rwx,group::r--,other::---,mask::rwx", "user::rwx,group::r--,mask::rwx,other::---", "rwxrwx---+"),
        ("user::rw-,group::--x,other::---", "user::rw-,group::--x,other::---", "rw---x---"),
        (
            "other::--x,group:g:r--,user:b:-w-,user:a:r--,group::r-x,user::rwx",
            "user::rwx,user:a:r--,user:b:-w-,group::r-x,group:g:r--,mask::rwx,other::--x",
            "rwxrwx--x+",
        ),
        (
            "user::rwx,group::r-x,other::---,default:user::rwx,default:group:g:r--",
            "user::rwx,group::r-x,other::---,default:user::rwx,default:group:g:r--,default:mask::r--",
            "rwxr-x---+",
        ),
    ] {
        let mut control = control(0o750);
        control.set_acl(&Acl::parse(sent, false).unwrap(), true).unwrap();
        assert_eq!((control.acl().to_string().as_str(), control.permissions().as_str()), (acl, permissions), "{sent}");
    }
}

/// Named entries alone are taken, and what is not said of the three stays.
#[test]
fn a_list_of_named_entries_only() {
    let mut control = control(0o750);
    control.set_acl(&Acl::parse(&format!("user:{ID}:rwx"), false).unwrap(), true).unwrap();
    assert_eq!(control.acl().to_string(), format!("user::rwx,user:{ID}:rwx,group::r-x,mask::rwx,other::---"));
}

#[test]
fn lists_that_are_none() {
    let many: Vec<String> = (0..33).map(|at| format!("user:{at}:rwx")).collect();
    for bad in [
        "",
        "asdf",
        "user::rw",
        "user:rwx",
        "owner::rwx",
        "user::rwx,user::r--",
        "mask:a:rwx",
        "other:a:r--",
        "default:",
        &many.join(","),
    ] {
        assert_eq!(Acl::parse(bad, false), Err(Refusal::InvalidAccessControlList), "{bad}");
    }
    assert!(Acl::parse(&many[..32].join(","), false).is_ok());
    assert!(Acl::parse("user::rwx", true).is_err());
}

#[test]
fn a_list_is_changed_step_by_step() {
    let mut own = control(0o640);
    let list = |text| Acl::parse(text, false).unwrap();
    own.change(Change::Modify, &list("user:a:rwx,default:user:a:r-x,default:user::rwx"), true).unwrap();
    assert_eq!(
        own.acl().to_string(),
        "user::rw-,user:a:rwx,group::r--,mask::rwx,other::---,default:user::rwx,default:user:a:r-x,default:mask::r-x"
    );
    let gone = Acl::parse("mask,default:user,default:group,user:a,default:user:a,default:mask", true).unwrap();
    own.change(Change::Remove, &gone, true).unwrap();
    assert_eq!(own.acl().to_string(), "user::rw-,group::r--,other::---");
    own.change(Change::Remove, &Acl::parse("user,group,other", true).unwrap(), true).unwrap();
    assert_eq!(own.acl().to_string(), "user::rw-,group::r--,other::---", "the three stay");
    own.change(Change::Set, &list("user::r--,group::---,other::---,default:other::rwx"), false).unwrap();
    assert_eq!(own.acl().to_string(), "user::r--,group::---,other::---", "a file has nothing to be inherited");
}

/// "Default permissions on new files and directories", and chmod(1) with a mask.
#[test]
fn what_is_made_inherits() {
    let mut parent = control(0o750);
    let plain = parent.inherit("me", "us", Mode::FILE, Mode::UMASK, false);
    assert_eq!((plain.permissions().as_str(), plain.owner.as_str(), plain.group.as_str()), ("rw-r-----", "me", "us"));
    parent
        .set_acl(&Acl::parse("user::rwx,group::r-x,other::---,default:user::rwx,default:user:a:rwx,default:group::r-x,default:other::---", false).unwrap(), true)
        .unwrap();
    let file = parent.inherit("me", "us", Mode::FILE, Mode::UMASK, false);
    assert_eq!(file.acl().to_string(), "user::rw-,user:a:rwx,group::r-x,mask::rw-,other::---");
    let directory = parent.inherit("me", "us", Mode::DIRECTORY, Mode::UMASK, true);
    assert_eq!(
        directory.acl().to_string(),
        "user::rwx,user:a:rwx,group::r-x,mask::rwx,other::---,default:user::rwx,default:user:a:rwx,default:group::r-x,default:mask::rwx,default:other::---"
    );
    let mut masked = file.clone();
    masked.set_mode(Mode::of(0o740));
    assert_eq!(masked.acl().to_string(), "user::rwx,user:a:rwx,group::r-x,mask::r--,other::---");
}

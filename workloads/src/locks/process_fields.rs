//! The fields that all locks of a client process share.

use std::any::Any;
use std::cell::OnceCell;
use std::rc::Rc;

/// The fields that all locks of a client process share, as a class's static fields are shared by
/// its objects. A lock that has any names a type for them.
#[derive(Clone, Debug, Default)]
pub struct ProcessFields(Rc<OnceCell<Rc<dyn Any>>>);

impl ProcessFields {
    /// Returns the fields, which the first lock of the process makes.
    ///
    /// # Panics
    /// Panics when another lock of the process has asked for another type: a process has locks of
    /// one kind.
    pub fn get<T: Default + 'static>(&self) -> Rc<T> {
        let fields = self.0.get_or_init(|| Rc::<T>::default());
        fields.clone().downcast().expect("the locks of a process are of one kind")
    }
}

/** Methods of real classes that are something else for a while. */
type Methods<Class> = {
  [Name in keyof Class as Class[Name] extends (...args: never[]) => unknown ? Name : never]: Class[Name];
};

/** Another method in place of a class's own, which it is made from. */
export function replaced<Class, Name extends keyof Methods<Class> & keyof Class>(
  prototype: Class,
  name: Name,
  make: (own: Class[Name]) => Class[Name],
): () => void {
  const own = prototype[name];
  prototype[name] = make(own);
  return () => {
    prototype[name] = own;
  };
}

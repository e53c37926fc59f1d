/** A code, as everybody here makes them; anything else may be somebody else's words. */
const CODE = /^[\w:.-]{1,100}$/;

/** Passes the first so many different codes, and `other` for those beyond and for what is none: each is a series of its own. */
export function createLabelLimit(maxValues: number): (value: string) => string {
  const values = new Set<string>();
  return (value) => {
    if (values.has(value)) return value;
    if (values.size >= maxValues || !CODE.test(value)) return "other";
    values.add(value);
    return value;
  };
}

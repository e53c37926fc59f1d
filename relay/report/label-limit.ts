/** A code in this project's format; anything else may be text from outside. */
const CODE = /^[\w:.-]{1,100}$/;

/**
 * Returns a function that passes the first `maxValues` different codes and maps all other values to `other`,
 * because each value is a series of its own.
 */
export function createLabelLimit(maxValues: number): (value: string) => string {
  const values = new Set<string>();
  return (value) => {
    if (values.has(value)) return value;
    if (values.size >= maxValues || !CODE.test(value)) return "other";
    values.add(value);
    return value;
  };
}

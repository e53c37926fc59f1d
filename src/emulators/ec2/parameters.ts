/** The parameters of a request in AWS's query protocol, with lists written as `Name.1`, `Name.2`, …. */
export interface Parameters {
  text(name: string): string | undefined;
  /** Returns the values of a list, in the order of their numbers. */
  list(name: string): readonly string[];
  /** Returns the elements of a list of structures, each with its own parameters. */
  structures(name: string): readonly Parameters[];
}

/** Parses the parameters of a form-encoded body. */
export function parseParameters(body: string): Parameters {
  return createParameters(new Map(new URLSearchParams(body)));
}

function createParameters(values: ReadonlyMap<string, string>): Parameters {
  return {
    text: (name) => values.get(name),
    list: (name) =>
      [...parseNumbered(values, name)]
        .filter(({ rest }) => rest === "")
        .sort((one, other) => one.number - other.number)
        .map(({ value }) => value),
    structures(name) {
      const byNumber = new Map<number, Map<string, string>>();
      for (const { number, rest, value } of parseNumbered(values, name)) {
        const members = byNumber.get(number) ?? new Map<string, string>();
        byNumber.set(number, members.set(rest, value));
      }
      return [...byNumber.entries()]
        .sort(([one], [other]) => one - other)
        .map(([, members]) => createParameters(members));
    },
  };
}

interface Numbered {
  readonly number: number;
  /** The name within the element; empty for an element that is a value. */
  readonly rest: string;
  readonly value: string;
}

function* parseNumbered(values: ReadonlyMap<string, string>, name: string): Generator<Numbered> {
  const prefix = `${name}.`;
  for (const [key, value] of values) {
    if (!key.startsWith(prefix)) continue;
    const [number = "", ...rest] = key.slice(prefix.length).split(".");
    if (/^\d{1,6}$/.test(number)) yield { number: Number(number), rest: rest.join("."), value };
  }
}

/** The fields of a JSON Schema that the comparison reads. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly $ref?: string;
}

/**
 * Returns why a reader of one contract may not understand a writer of the other, one line each. The reasons
 * are unknown keys for a strict reader, required keys that are not always written, and invalid values.
 */
export function listDifferences(reader: Schema, writer: Schema, path = ""): string[] {
  const options = reader.anyOf ?? reader.oneOf;
  const written = writer.anyOf ?? writer.oneOf ?? [writer];
  if (options !== undefined) {
    return written.flatMap((each) => {
      const tried = options.map((option) => listDifferences(option, each, path));
      return (
        tried.find((found) => found.length === 0) ?? tried.toSorted((a, b) => a.length - b.length)[0] ?? []
      );
    });
  }
  if (written.length > 1) return written.flatMap((each) => listDifferences(reader, each, path));
  return [
    ...ofValues(reader, writer, path),
    ...ofKeys(reader, writer, path),
    ...ofMembers(reader, writer, path),
  ];
}

function ofValues(reader: Schema, writer: Schema, path: string): string[] {
  const allowed = valuesOf(reader);
  if (allowed !== undefined) {
    const values = valuesOf(writer);
    if (values === undefined) return [`${path}: any value, where it reads ${JSON.stringify(allowed)}`];
    return values
      .filter((value) => !allowed.includes(value))
      .map((value) => `${path}: ${JSON.stringify(value)}`);
  }
  const [read, written] = [reader.type, writer.type];
  if (read === undefined || read === written || (read === "number" && written === "integer")) return [];
  return valuesOf(writer)?.every((value) => typeof value === read) ? [] : [`${path}: ${written} for ${read}`];
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  return "const" in schema ? [schema.const] : schema.enum;
}

function ofKeys(reader: Schema, writer: Schema, path: string): string[] {
  const known = reader.properties ?? {};
  const unknown =
    reader.additionalProperties === false
      ? Object.keys(writer.properties ?? {}).filter((key) => !Object.hasOwn(known, key))
      : [];
  const missing = (reader.required ?? []).filter(
    (key) => writer.type === "object" && !writer.required?.includes(key),
  );
  return [
    ...unknown.map((key) => `${path}/${key} is not known`),
    ...missing.map((key) => `${path}/${key} may be missing`),
  ];
}

function ofMembers(reader: Schema, writer: Schema, path: string): string[] {
  const found: string[] = [];
  for (const [key, member] of Object.entries(reader.properties ?? {})) {
    const written = writer.properties?.[key];
    if (written !== undefined) found.push(...listDifferences(member, written, `${path}/${key}`));
  }
  const [others, othersWritten] = [reader.additionalProperties, writer.additionalProperties];
  if (typeof others === "object" && typeof othersWritten === "object")
    found.push(...listDifferences(others, othersWritten, `${path}/*`));
  if (reader.items !== undefined && writer.items !== undefined)
    found.push(...listDifferences(reader.items, writer.items, `${path}/[]`));
  return found;
}

import * as z from "zod";

/** The part of JSON Schema that zod writes for the schemas of answers. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/**
 * Returns the fields that a schema of the product reads and that none of the answers has, such as
 * `server.private_net[].ip`. If a vendor's judge accepts the answers, every other field is one of the vendor's.
 */
export function findUnseenFields(schema: z.ZodType, answers: readonly unknown[]): readonly string[] {
  return findUnseen(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema, answers, "");
}

function findUnseen(schema: Schema, values: readonly unknown[], at: string): readonly string[] {
  const objects = values.filter(isObject);
  const ofProperties = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = at === "" ? name : `${at}.${name}`;
    const found = objects.flatMap((object) => (Object.hasOwn(object, name) ? [object[name]] : []));
    return found.length === 0 ? [path] : findUnseen(property, found, path);
  });
  const ofItems =
    schema.items === undefined
      ? []
      : findUnseen(schema.items, values.filter(Array.isArray).flat(), `${at}[]`);
  const { additionalProperties: entries } = schema;
  const ofEntries =
    typeof entries === "object" ? findUnseen(entries, objects.flatMap(Object.values), `${at}{}`) : [];
  const ofParts = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])].flatMap((part) =>
    findUnseen(part, values, at),
  );
  return [...ofProperties, ...ofItems, ...ofEntries, ...ofParts];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

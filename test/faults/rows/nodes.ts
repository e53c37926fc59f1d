import { createBurst } from "#test/faults/burst.ts";
import type { NodeDifference } from "#test/faults/foreign.ts";
import type { Row } from "#test/faults/row.ts";

const REPLACED = 50;

/** Names that a program could mistake for something else; each is a valid name of a node. */
const HOSTILE_NAMES = [
  "constructor",
  "prototype",
  "hasownproperty",
  "tostring",
  "valueof",
  "null",
  "undefined",
  "true",
  "nan",
  "0",
  "1e5",
  "00.00",
  "xn--80ak6aa92e",
  "a.b.c.d.e.f.g",
  "status",
  "items",
  "metadata.name",
  "i-00000000000000001",
  "10.0.0.1",
  "localhost",
];

/** Unusual nodes. */
export const NODE_ROWS: readonly Row[] = [
  {
    name: "50 of 300 nodes made again under their names",
    isQuick: true,
    play: createBurst({
      async during(stage) {
        const there = [...stage.expected].flatMap(([, { instance }]) => instance ?? []);
        for (const instance of stage.random.some(there, REPLACED)) {
          const path = `/api/v1/nodes/${instance.privateDnsName}`;
          stage.expected.delete(instance.privateDnsName);
          await stage.world.ask({ method: "DELETE", path });
          await stage.register(instance);
        }
      },
    }),
  },
  {
    name: "hostile names, long labels, annotations of 200 KB, 50 images",
    play: createBurst({ difference: hostileNode }),
  },
];

function hostileNode(index: number): NodeDifference {
  const long = (character: string, length: number): string => character.repeat(length);
  // Four labels of 60 characters make a name of 243.
  const name =
    HOSTILE_NAMES[index] ?? `${long("n", 60)}.${long("o", 60)}.${long("d", 60)}.${long("e", 56)}${index}`;
  const labels = Object.fromEntries(
    Array.from({ length: 20 }, (_, label) => [`${long("k", 60)}-${label}`.slice(0, 63), long("v", 63)]),
  );
  const images = Array.from({ length: 50 }, (_, image) => ({
    names: [`registry.example.com/${long("i", 100)}/${image}@sha256:${long("0", 64)}`],
    sizeBytes: 1_000_000 + index,
  }));
  return {
    name,
    labels: {
      ...labels,
      // A kubelet cuts it to a label's maximum.
      "kubernetes.io/hostname": name.slice(0, 60),
      [`${long("p", 63)}.example.com/constructor`]: "__proto__".replaceAll("__", ""),
    },
    annotations: { "example.com/huge": long("h", 200_000), "example.com/constructor": "x" },
    status: { images },
  };
}

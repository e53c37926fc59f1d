import { answerEndlessly, answerWith } from "#test/adversarial/answers.ts";
import type { Attack, HostileCall } from "#test/adversarial/attack.ts";
import {
  FIRST_HOSTILE_VERSION,
  formatHostileNode,
  formatHostilePage,
  repeat,
  watchLine,
} from "#test/adversarial/hostile-nodes.ts";

/** Lines that are generated and sent at a time. */
const LINES = 300;

/** Floods a watch with `line` of increasing numbers, as fast as the client takes it. */
function floodOf(line: (count: number) => string): Attack {
  return () => {
    let count = 0;
    const next = (): Buffer => {
      const lines = repeat(LINES, (index) => line(count + index));
      count += LINES;
      return Buffer.from(lines.join(""));
    };
    return { answer: (call: HostileCall) => call.kind === "watch" && answerEndlessly(call, next) };
  };
}

/** Endless new nodes, each waiting for its cloud. */
export const endlessAdded = floodOf((count) =>
  watchLine("ADDED", formatHostileNode(`n-${count}`, FIRST_HOSTILE_VERSION + count)),
);

/** Events without an object. */
export const malformedEvents = floodOf(() => watchLine("ADDED", "{}"));

/** Objects that are not nodes: each change of one is a separate error. */
export const malformedNodes = floodOf((count) => {
  const metadata = `{"name":"n-${count % 50}","uid":"n-${count % 50}","resourceVersion":"${FIRST_HOSTILE_VERSION + count}"}`;
  return watchLine("MODIFIED", `{"metadata":${metadata},"spec":5,"status":[]}`);
});

/** Fifty nodes that appear and disappear: each time another object that waits for its cloud. */
export const flappingNodes = floodOf((count) => {
  const node = formatHostileNode(`n-${count % 50}`, FIRST_HOSTILE_VERSION + count);
  const another = node.replace(/"uid":"[^"]*"/, `"uid":"u-${count}"`);
  return watchLine("ADDED", another);
});

/** Endless bookmarks. */
export const bookmarkFlood = floodOf((count) =>
  watchLine("BOOKMARK", `{"metadata":{"resourceVersion":"${FIRST_HOSTILE_VERSION + count}"}}`),
);

/** Nodes of a megabyte each, most of it in fields that decisions read. */
export const fatNodes: Attack = () => {
  let count = 0;
  const addresses = repeat(12_000, (index) => `{"type":"ExternalDNS","address":"${"x".repeat(50)}${index}"}`);
  const next = (): Buffer => {
    count += 1;
    const node = formatHostileNode(`n-${count}`, FIRST_HOSTILE_VERSION + count);
    return Buffer.from(
      watchLine("ADDED", node.replace(/"addresses":\[.*?\]/, `"addresses":[${addresses.join(",")}]`)),
    );
  };
  return { answer: (call) => call.kind === "watch" && answerEndlessly(call, next) };
};

/** Endless changes of fifty existing nodes. */
export const modifiedFlood: Attack = (world) => {
  const names = repeat(50, (index) => `n-${index}`);
  const flood = floodOf((count) =>
    watchLine("MODIFIED", formatHostileNode(names[count % 50] ?? "", FIRST_HOSTILE_VERSION + count)),
  );
  const { answer } = flood(world);
  const list = formatHostilePage(names.map((name) => formatHostileNode(name, FIRST_HOSTILE_VERSION)));
  return { answer: (call) => (call.kind === "list" ? answerWith(call, list) : answer?.(call) === true) };
};

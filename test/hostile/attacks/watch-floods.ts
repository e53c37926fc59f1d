import { answerEndlessly, answerWith } from "#test/hostile/answers.ts";
import type { Attack, HostileCall } from "#test/hostile/attack.ts";
import {
  FIRST_HOSTILE_VERSION,
  hostileNode,
  hostilePage,
  times,
  watchLine,
} from "#test/hostile/hostile-nodes.ts";

/** Lines that are made and sent at a time. */
const LINES = 300;

/** A watch that goes on with `line` of the first, second, … number as fast as it is taken. */
function floodOf(line: (count: number) => string): Attack {
  return () => {
    let count = 0;
    const next = (): Buffer => {
      const lines = times(LINES, (index) => line(count + index));
      count += LINES;
      return Buffer.from(lines.join(""));
    };
    return { answer: (call: HostileCall) => call.kind === "watch" && answerEndlessly(call, next) };
  };
}

/** New nodes without end, every one of them waiting for its cloud. */
export const endlessAdded = floodOf((count) =>
  watchLine("ADDED", hostileNode(`n-${count}`, FIRST_HOSTILE_VERSION + count)),
);

/** Events about nothing. */
export const malformedEvents = floodOf(() => watchLine("ADDED", "{}"));

/** Nodes that are objects, and no nodes: each change of one is a fault of its own. */
export const malformedNodes = floodOf((count) => {
  const metadata = `{"name":"n-${count % 50}","uid":"n-${count % 50}","resourceVersion":"${FIRST_HOSTILE_VERSION + count}"}`;
  return watchLine("MODIFIED", `{"metadata":${metadata},"spec":5,"status":[]}`);
});

/** Fifty nodes that come and go: each time another object that waits for its cloud. */
export const flappingNodes = floodOf((count) => {
  const node = hostileNode(`n-${count % 50}`, FIRST_HOSTILE_VERSION + count);
  const another = node.replace(/"uid":"[^"]*"/, `"uid":"u-${count}"`);
  return watchLine("ADDED", another);
});

/** Bookmarks without end. */
export const bookmarkFlood = floodOf((count) =>
  watchLine("BOOKMARK", `{"metadata":{"resourceVersion":"${FIRST_HOSTILE_VERSION + count}"}}`),
);

/** Nodes of a megabyte each, most of it what decisions read. */
export const fatNodes: Attack = () => {
  let count = 0;
  const addresses = times(12_000, (index) => `{"type":"ExternalDNS","address":"${"x".repeat(50)}${index}"}`);
  const next = (): Buffer => {
    count += 1;
    const node = hostileNode(`n-${count}`, FIRST_HOSTILE_VERSION + count);
    return Buffer.from(
      watchLine("ADDED", node.replace(/"addresses":\[.*?\]/, `"addresses":[${addresses.join(",")}]`)),
    );
  };
  return { answer: (call) => call.kind === "watch" && answerEndlessly(call, next) };
};

/** Every change of fifty nodes that there are, without end. */
export const modifiedFlood: Attack = (world) => {
  const names = times(50, (index) => `n-${index}`);
  const flood = floodOf((count) =>
    watchLine("MODIFIED", hostileNode(names[count % 50] ?? "", FIRST_HOSTILE_VERSION + count)),
  );
  const { answer } = flood(world);
  const list = hostilePage(names.map((name) => hostileNode(name, FIRST_HOSTILE_VERSION)));
  return { answer: (call) => (call.kind === "list" ? answerWith(call, list) : answer?.(call) === true) };
};

import { expect } from "vitest";
import { TOKEN } from "#emulators/digitalocean/names.ts";
import { MARK, type MarkedWorld, type Read, SECRET } from "#test/functions/marked-world.ts";

/** What is asserted of all of them; `says` where the cloud or a file had something to say. */
export function expectSecretsKept({ sent, operator }: Read, says = true): void {
  const cluster = JSON.stringify(sent);
  expect(cluster).not.toContain(MARK);
  expect(cluster).not.toContain(SECRET);
  expect(cluster).not.toContain(TOKEN);
  expect(operator).not.toContain(SECRET);
  expect(operator).not.toContain(TOKEN);
  if (says) expect(operator).toContain(MARK);
}

/** What holds in the end: the cluster has Events, and no marks. */
export async function expectNothingLeft(world: MarkedWorld): Promise<void> {
  const text = await world.everything();
  expect(text).toContain('"reason":"');
  expect(text).not.toContain(MARK);
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain(TOKEN);
}

import { expect } from "vitest";
import { describeAttack } from "#test/adversarial/describe-attack.ts";

/** Characters that control a terminal, and those that end a line or change its reading. */
const ACTING = /(?!\n)[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;

describeAttack("text", {
  async meanwhile({ page }, logged) {
    const pages = await Promise.all(
      ["/readyz/clusters", "/readyz/clusters/hostile", "/metrics"].map((path) => page(path)),
    );
    for (const [status, text] of pages) {
      expect([200, 503]).toContain(status);
      expect(ACTING.exec(text)).toBeNull();
      expect(text).not.toMatch(/^cluster tenant-b/m);
      expect(longestLineOf(text)).toBeLessThan(2_000);
    }
    expect(ACTING.exec(logged())).toBeNull();
    for (const line of logged().trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
    expect(longestLineOf(logged())).toBeLessThan(8_000);
  },
});

function longestLineOf(text: string): number {
  return Math.max(...text.split("\n").map((line) => line.length));
}

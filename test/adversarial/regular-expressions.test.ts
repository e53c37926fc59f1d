import { expect, test } from "vitest";
import { MAX_REQUEST_LENGTH } from "#core/csr/csr.ts";
import { parseCertificateRequest } from "#functions/parts/csr-controller.ts";
import { CERTIFICATE_BOMBS } from "#test/adversarial/certificate-bombs.ts";
import { listReaders } from "#test/adversarial/readers.ts";
import { readExpressions } from "#test/adversarial/regular-expressions.ts";
import { runUntilStuck } from "#test/adversarial/run-until-stuck.ts";

// A tenant writes annotations, names and kubeconfigs; JavaScript's regular expressions can backtrack. One
// that takes quadratic time on 250 KB is busy for a minute, and blocks all other clusters of the process.

const TIMEOUT_MS = 900_000;

test("no deployed regular expression backtracks repeatedly over 250 KB", {
  timeout: TIMEOUT_MS,
}, async () => {
  const names = readExpressions().map(({ source, flags, file }) => `/${source}/${flags} of ${file}`);
  expect(names.length).toBeGreaterThan(200);
  const stuck = await runUntilStuck(new URL("regular-expressions.ts", import.meta.url), names);
  expect(stuck, "change each expression in its file so that it does not backtrack").toEqual([]);
});

test("readers of annotations, networks, provider IDs, kubeconfigs and certificate requests finish, and throw nothing", {
  timeout: TIMEOUT_MS,
}, async () => {
  const names = (await listReaders()).map(({ name }) => name);
  const failed = await runUntilStuck(new URL("readers.ts", import.meta.url), names);
  expect(failed, "bound what each reader reads, before it reads it, and let it throw nothing").toEqual([]);
});

test.each(Object.entries(CERTIFICATE_BOMBS))("a certificate request of %s is unreadable", (_, text) => {
  expect(text.length).toBeLessThanOrEqual(MAX_REQUEST_LENGTH);
  expect(parseCertificateRequest(text).kind).toBe("unreadable");
});

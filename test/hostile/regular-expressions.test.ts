import { expect, test } from "vitest";
import { MAX_REQUEST_LENGTH } from "#core/csr/csr.ts";
import { parseCertificateRequest } from "#functions/parts/parse-certificate-request.ts";
import { CERTIFICATE_BOMBS } from "#test/hostile/certificate-bombs.ts";
import { listReaders } from "#test/hostile/readers.ts";
import { readExpressions } from "#test/hostile/regular-expressions.ts";
import { runUntilStuck } from "#test/hostile/run-until-stuck.ts";

// A tenant writes annotations, names and kubeconfigs; JavaScript's regular expressions go back as often as they are written to. One that
// takes time in proportion to the square of 250 KB is busy for a minute, and so are all other clusters of the process.

const TIMEOUT_MS = 900_000;

test("no regular expression of what is deployed goes back over 250 KB again and again", {
  timeout: TIMEOUT_MS,
}, async () => {
  const names = readExpressions().map(({ source, flags, file }) => `/${source}/${flags} of ${file}`);
  expect(names.length).toBeGreaterThan(200);
  expect(await runUntilStuck(new URL("regular-expressions.ts", import.meta.url), names)).toEqual([]);
});

test("whoever reads annotations, networks, provider IDs, kubeconfigs or certificate requests comes to an end, and throws nothing", {
  timeout: TIMEOUT_MS,
}, async () => {
  const names = (await listReaders()).map(({ name }) => name);
  expect(await runUntilStuck(new URL("readers.ts", import.meta.url), names)).toEqual([]);
});

test.each(Object.entries(CERTIFICATE_BOMBS))("a certificate request of %s is unreadable", (_, text) => {
  expect(text.length).toBeLessThanOrEqual(MAX_REQUEST_LENGTH);
  expect(parseCertificateRequest(text).kind).toBe("unreadable");
});

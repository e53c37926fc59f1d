import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { CONDITIONS } from "#core/csr/conditions.ts";
import { EVENTS } from "#core/event-catalog.ts";
import { FACTS } from "#core/message-template.ts";

const page = await readFile(new URL("../../docs/reference/events.md", import.meta.url), "utf8");

test.each([
  ["Events", eventRows()],
  ["Conditions of CertificateSigningRequests", conditionRows()],
  ["Facts", factRows()],
])("the reference lists exactly these: %s", (title, rows) => {
  const [, section = ""] = page.split(`\n## ${title}\n`);
  const [own = ""] = section.split("\n## ");
  expect(own.split("\n").filter((line) => line.startsWith("| "))).toEqual(rows);
});

function eventRows(): string[] {
  const rows = Object.entries(EVENTS).flatMap(([reason, { type, on, says }]) =>
    Object.values(says).map(
      ({ sentence, when }) => `| \`${reason}\` | ${type} | ${on} | ${sentence} | ${when} |`,
    ),
  );
  return ["| reason | type | on | message | when |", ...rows];
}

function conditionRows(): string[] {
  const rows = Object.entries(CONDITIONS).map(
    ([reason, { type, sentence, when }]) => `| \`${reason}\` | ${type} | ${sentence} | ${when} |`,
  );
  return ["| reason | type | message | when |", ...rows];
}

function factRows(): string[] {
  const rows = Object.entries(FACTS).map(
    ([name, { what, maxCharacters }]) => `| \`{${name}}\` | ${what} | ${maxCharacters} |`,
  );
  return ["| in a message | is | characters at most |", ...rows];
}

import type { Exchange } from "#emulators/api-server/exchange.ts";
import { OUR_USERS } from "#emulators/harness/control-plane.ts";
import { judgeAnswer, judgeRequest, judgeStored, judgeWatchLine } from "#test/openapi/judge.ts";
import { type OpenApi, readOpenApi } from "#test/openapi/operations.ts";
import type { SchemaIssue } from "#test/openapi/schema.ts";

/** Judges the exchanges with embedded API servers. */
export interface ExchangeJudge {
  judge(exchange: Exchange): void;
  /** Returns the violations since the last call, each as one line. */
  takeViolations(): readonly string[];
}

/** Creates a judge by the documents in a folder. */
export function createExchangeJudge(folder: string): ExchangeJudge {
  const openApi = getOpenApi(folder);
  const violations = new Set<string>();
  const clean = new Set<string>();
  const report = ({ method, path }: Exchange, what: string, issues: readonly SchemaIssue[]): void => {
    for (const { pointer, rule } of issues) violations.add(`${method} ${path}: ${what}${pointer}: ${rule}`);
  };
  // Watches share their lines, and objects are read more often than written.
  const judgeOnce = (json: string, judge: () => readonly SchemaIssue[]): readonly SchemaIssue[] => {
    if (clean.has(json)) return [];
    const issues = judge();
    if (clean.size >= MAX_CLEAN) clean.clear();
    if (issues.length === 0) clean.add(json);
    return issues;
  };
  return {
    judge(exchange) {
      const { answer, body, path, user, written } = exchange;
      if ("line" in answer) {
        report(
          exchange,
          "watch event ",
          judgeOnce(answer.line, () => judgeWatchLine(openApi, path, answer.line)),
        );
        return;
      }
      // Other users stand for the world outside, and tests send the server what it has to reject.
      if (body !== undefined && user !== undefined && OUR_USERS.includes(user))
        report(exchange, "request ", judgeRequest(openApi, { ...exchange, body }));
      if (written !== undefined)
        report(
          exchange,
          "written object ",
          judgeOnce(written, () => judgeStored(openApi, path, written)),
        );
      report(exchange, `answer ${answer.status} `, judgeAnswer(openApi, exchange, answer));
    },
    takeViolations() {
      const taken = [...violations];
      violations.clear();
      return taken;
    },
  };
}

/** The texts that are remembered as valid. */
const MAX_CLEAN = 5_000;

const known = new Map<string, OpenApi>();

/** Documents are parsed once in a worker. */
function getOpenApi(folder: string): OpenApi {
  const openApi = known.get(folder) ?? readOpenApi(folder);
  known.set(folder, openApi);
  return openApi;
}

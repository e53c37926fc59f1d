import * as z from "zod";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

const ActionsPage = z.object({
  actions: z.array(
    z.looseObject({
      status: z.string(),
      type: z.string(),
      resource_id: z.union([z.int(), z.string()]).nullish(),
      resource_type: z.string(),
    }),
  ),
});

/** The largest page; actions are sorted newest first, and older ones are not read. */
const PAGE_SIZE = 200;

/**
 * Lists the ids of the droplets that the account's latest actions destroyed. It needs the scope
 * `actions:read`.
 */
export async function listDestroyed(
  api: Api,
  callContext: CallContext,
): Promise<Outcome<ReadonlySet<string>>> {
  const template = "GET /v2/actions";
  const path = `/v2/actions?page=1&per_page=${PAGE_SIZE}`;
  const answer = await api.get({ operation: "actions_list", template, path }, callContext);
  if (answer.kind === "fault") return answer;
  const page = ActionsPage.safeParse(answer.value).data;
  if (page === undefined) return fault("Unavailable", `${template}: the answer is not a list of actions`);
  return ok(
    new Set(
      page.actions.flatMap(({ status, type, resource_id: id, resource_type: kind }) =>
        kind === "droplet" && type === "destroy" && status === "completed" && id != null ? [String(id)] : [],
      ),
    ),
  );
}

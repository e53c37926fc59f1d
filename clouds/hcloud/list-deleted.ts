import * as z from "zod";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

const ActionsPage = z.object({
  actions: z.array(
    z.looseObject({
      command: z.string(),
      status: z.string(),
      resources: z.array(z.looseObject({ id: z.union([z.int(), z.string()]), type: z.string() })),
    }),
  ),
});

/** Hetzner's largest page; older actions are not read. */
const ACTIONS_PAGE_SIZE = 50;

/** Lists the ids of the servers that the project's latest actions deleted. */
export async function listDeleted(api: Api, callContext: CallContext): Promise<Outcome<ReadonlySet<string>>> {
  const template = "GET /servers/actions";
  const query = new URLSearchParams({ sort: "id:desc", page: "1", per_page: String(ACTIONS_PAGE_SIZE) });
  const request = { operation: "servers_actions_list", template, path: `/servers/actions?${query}` };
  const answer = await api.get(request, callContext);
  if (answer.kind === "fault") return answer;
  const page = ActionsPage.safeParse(answer.value).data;
  if (page === undefined) return fault("Unavailable", `${template}: the answer is not a list of actions`);
  return ok(
    new Set(
      page.actions.flatMap(({ command, status, resources }) =>
        command === "delete_server" && status === "success"
          ? resources.flatMap(({ id, type }) => (type === "server" ? [String(id)] : []))
          : [],
      ),
    ),
  );
}

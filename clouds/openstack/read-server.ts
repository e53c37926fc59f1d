import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Apis } from "#clouds/openstack/apis.ts";
import { listPorts } from "#clouds/openstack/list-ports.ts";
import { withPorts } from "#clouds/openstack/list-servers.ts";
import { type Server, ServerAnswer } from "#clouds/openstack/server.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * One server and its ports by its id, or undefined where Nova itself says that there is none: the only way to know that. Ports are
 * asked for in any case: what it takes must not tell a server of somebody else's from none.
 */
export async function readServer(
  apis: Apis,
  { id, project }: { readonly id: string; readonly project: string },
  turn: Turn,
): Promise<Outcome<Server | undefined>> {
  const template = "GET /servers/{id}";
  const [answer, ports] = await Promise.all([
    apis.get("compute", { operation: "servers_get", template, path: `/servers/${id}` }, turn),
    listPorts(apis, { project, servers: [id] }, turn),
  ]);
  if (answer.kind === "fault") {
    const { status, errorId } = answer.fault;
    return status === 404 && errorId === "itemNotFound" ? ok(undefined) : answer;
  }
  const parsed = ServerAnswer.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a server`);
  const { server } = parsed.data;
  if (server.id !== id)
    return fault("Unavailable", `${template}: asked for ${id}, the answer is server ${server.id}`);
  return ports.kind === "fault" ? ports : ok(withPorts(server, ports.value.byServer));
}

import * as z from "zod";
import { ClusterName } from "#core/event.ts";
import { Reason } from "#core/reason.ts";
import { CloudUsage, ClusterUsage, ObjectReport, Report } from "#core/report.ts";

/** The log events, by the value of `event`, with the meaning of the line. */
export const LOG_EVENTS = {
  Serving: "the process answers at `url`; it has so many `clusters`, or serves these `functions`",
  Draining: "a `signal` came: nothing new starts",
  Drained: "what was in flight has `finished`, or is given up",
  Unauthenticated: "`functions` has no credential to ask for: every program on its machine can invoke them",
  CallersRefused:
    "so many (`count`) requests to `functions` had no valid credential since that was last said; `message` is about the last",
  CertificateRead:
    "the server's certificate, or the authority of clients, has changed, and is used from now on",
  CertificateUnusable:
    "a file of the server's certificate cannot be used, which `message` names; the last one stays in use",
  RequestFailed: "a request to `functions` met a fault of serverless-ccm",
  PlatformReady: "the functions of these `controllers` can be invoked",
  PlatformUnreachable: "functions cannot be invoked, for these reasons (`codes`); it is checked again",
  PlatformFailed:
    "the platform has run no function of the `controller` for `durationMs` (`code`); its events are handled in the relay's process",
  PlatformBack: "the platform has been well for long enough, and has the events of the `controller` again",
  FallbackLimited: "what of the cluster's work the relay could not do by itself, were the platform to fail",
  DryRun: "functions are told to write nothing, whatever the cluster",
  Rereading: "a `signal` asks for the `file` of clusters to be read again",
  NothingToReread: "a `signal` asks for a file to be read again, and flags describe the one cluster",
  ClustersFileNotRead: "a `file` of clusters is configured, and flags for one cluster win",
  FlagWithoutEffect:
    "a flag of the stock controller manager (`name`) changes nothing here; `message` says what takes its place",
  NoClusterUsable: "no entry of the `file` can be used now; each is followed as soon as it can be",
  ClustersRead: "the `file` of clusters has new content",
  ClustersFileFaulty: "the `file` of clusters cannot be read; what is known goes on",
  ClusterEntryFaulty:
    "an entry of the `file` cannot be used, or is held because of another one (`code`); what is known of the cluster goes on",
  SignInUnusable: "the relay cannot sign in to the cluster with what its entry names; it retries",
  ClusterAdded: "the cluster is followed from now on",
  ClusterChanged: "the cluster is followed by its new entry",
  ClusterRemoved: "the cluster is followed no longer",
  ClusterFailed: "a fault of serverless-ccm kept the cluster from being followed",
  ConfigurationDoubtful: "what is configured may be meant, and is most likely a mistake",
  ConfigurationUnchecked: "the cloud did not say, when `run` began, whether what is configured is there",
  ReplicasChanged: "these `replicas` share the clusters from now on; this one is `replica`",
  ReplicaCutOff:
    "the others cannot hear of this `replica`, and follow its clusters, too; it goes on with what it has, which is nothing if they never could",
  ReplicaBack: "the others hear of this `replica` again",
  ReplicaNameTaken: "another process has the name of this `replica`: both follow the same clusters",
  WorkerDied:
    "a `worker` ended, for this `reason`; its `clusters` start again in another one; `cluster` is the one whose doing it was, where that is known",
  Quarantined:
    "the cluster ended its worker repeatedly (`deaths`) and runs in a worker of its own; the relay retries after `retryInMs`",
  QuarantineEnded: "the cluster has been well for long enough to live beside others again",
  LogLinesDropped: "a `worker` said more than is passed on; so many lines are `leftOut`",
  Stopped:
    "an operator has stopped this (`what`), for the cluster or, without one, for all; since then, by whom (`by`)",
  Resumed: "what an operator had stopped is so no longer",
  UnsignedPath:
    "a request for the URL of `admission` names the `cluster` in a path without its signature; it is answered 401, and told once by each process",
  UnsignedToken:
    "a request for the URL of `audit` names the `cluster` with a token that is not signed for it; it is answered 401, and told once by each process",
  UnknownCluster:
    "an API server reports to `audit` for a `cluster` without an entry, or whose relay writes; told once by each process for each cluster",
  TooManyReports:
    "more reports of the `cluster` arrive at `audit` than are looked at; they are answered 429, and told once by each process for each cluster",
  BadReport:
    "what the `cluster`'s API server sends to `audit` is not a list of audit events; told once by each process for each cluster",
  MalformedEvents:
    "a list of the `cluster`'s API server to `audit` has events that cannot be read; told once by each process for each cluster",
  LookFailed: "the objects that the `cluster`'s API server reported could not be looked at",
  Misconfigured:
    "a variable of the function's environment cannot be read, which `message` names; requests are refused until it is set right",
  StopSwitchUnreadable:
    "the stop switch cannot be read (`home`, `code`): its last known state applies, and unproven deletions wait",
  StopSwitchRead: "what is stopped can be read again",
  UnknownController: "the cluster's entry names a controller that this version does not have",
  Listed: "all objects of the `resource` are known",
  WatchFailed: "a list or watch of the `resource` failed; the relay retries after `retryInMs`",
  ReadFailed: "an object that the watch was late with could not be read",
  Recovered: "what failed (`code`) or was limited (`limit`) is well again, `durationMs` after it began",
  ClusterLimited: "more came of the cluster than its `limit` allows, or comes still",
  LogLimited: "the number of lines of the cluster that were `leftOut` in `durationMs`",
  LeaseRenewed: "the relay reports from now on that events of the cluster reach the functions",
  LeaseNotRenewed:
    "the relay no longer reports that (`outcome`, `code`); after two minutes the sweep does its work, unless an operator has stopped writes (`Stopped`)",
  SweepFinished:
    "a cluster was swept, in this `mode`: `overdue` nodes and Services had not been sent in time; or so many `clusters`, whose Leases are fresh. The mode `touched` is a look of the function `audit`",
  SweepNotDone:
    "these clusters (`names`) were not swept, for this reason (`code`); the next minute's sweep comes",
  Refreshed: "all objects of the `resource` were checked",
  MalformedObject: "an object that is not what the API server's schema promises is left out",
  ObjectTooLarge: "an object that no event can carry is left out",
  WorkUndone: "a field manager (`manager`) reverts our work on an object",
  Report:
    "an invocation ended with a report; `invokedMs` is the relay's measure, `durations` are the function's",
  CloudAction:
    "an `action` on a resource of the cloud (`target`) was sent for an object; where it failed, or was not answered, with its `code`",
  FleetBrakeEngaged:
    "a claim of this cluster has engaged the fleet brake, by this limit (`code`); an error, written once",
  OrphanedLoadBalancer:
    "the cloud has something (`target`, of a `kind`) for a Service (`namespace`, `name`) that is gone, or that another one of its name has replaced (`code`); it stays unless the cluster has `loadBalancers.deleteOrphaned`, and then `deletedFrom` says when its turn comes",
  Object: "an object that was changed, skipped, warned about or will be retried",
  InvocationFailed:
    "an invocation ended without a report; with the code `DecisionsRefused` where a function [handed back](../how-to/private-api-servers.md#the-relay-writes) what it should not: nothing of it was done",
  InstanceChanged:
    "EC2 reported the end of an `instance` (`state`): its nodes (`objects`) were checked at once",
  InstanceChangeDropped: "EC2 reported an `instance` that needs no work (`code`)",
  ServiceDenied:
    "an API server asked about a Service (`namespace`, `name`) that cannot have its load balancer (`code`): it was told so, in the words of the catalogue",
  ReviewUnanswered:
    "an API server asked about a Service (`namespace`, `name`), and the cloud did not answer (`code`)",
  ReviewFailed: "an API server asked about a Service, and could not be answered",
  TracingOff: "the environment asks for traces in a way that cannot be followed: nothing is traced",
  TracesDropped:
    "so many `spans` were not sent since that was last said, the last of them for this reason (`code`)",
} as const;

const describeField = <Schema extends z.ZodType>(schema: Schema, meaning: string): z.ZodOptional<Schema> =>
  schema.optional().describe(meaning);
const describeText = (meaning: string): z.ZodOptional<z.ZodString> => describeField(z.string(), meaning);
const count = (meaning: string): z.ZodOptional<z.ZodInt> => describeField(z.int().min(0), meaning);

/** A line of the log of `run`, `relay` and the functions; every line has time, level and event. */
export const LogLine = z.strictObject({
  time: z.iso.datetime().describe("when it was written, in UTC"),
  level: z
    .enum(["info", "warn", "error"])
    .describe("`info`, `warn` (it heals or is retried) or `error` (a person must act)"),
  event: z
    .string()
    .regex(/^([A-Z][a-z]+)+$/)
    .describe("what happened; below"),
  message: describeText("a sentence for people"),
  cluster: describeField(ClusterName, "the cluster, as configured"),
  controller: describeText("the controller, as in `--controllers`"),
  resource: describeText("the resource's plural"),
  namespace: describeText("of the object"),
  name: describeText("of the object, or of the flag"),
  uid: describeText("of the object"),
  instance: describeText("an instance of the cloud, by its id"),
  state: describeText("of the instance, as the cloud names it"),
  replica: describeText("this relay among the replicas that share a cluster registry"),
  replicas: describeField(z.array(z.string()), "all live replicas, this one included"),
  worker: count("a thread of the relay"),
  deaths: count("how often it ended its worker"),
  eventId: describeText(
    "the `id` of the event that a function received; equal in the logs of relay and function",
  ),
  requestId: describeText("the platform's name of the invocation"),
  action: describeText("the action in the cloud, by its API name"),
  target: describeText("the resource of the action or of the message"),
  kind: describeText("the kind of the resource, in the cloud's terms"),
  since: describeText("when it was first found, or stopped"),
  what: describeText("what is stopped: `writes` or `deletes`"),
  by: describeText("who stopped it, as far as known"),
  home: describeText("where the stop is recorded"),
  deletedFrom: describeText("when its turn to be deleted begins"),
  cloudRequestId: describeText("the cloud's name of the request, as in its own audit trail"),
  reason: describeText("why the event was sent"),
  code: describeText("why something failed, as a stable code"),
  limit: describeText("a limit of the cluster, as in its `limits`"),
  leftOut: count("lines"),
  codes: describeField(z.array(z.string()), "the same, of each that failed"),
  controllers: describeField(z.array(z.string()), "controllers, as in `--controllers`"),
  cause: describeText("why a list was made"),
  restarted: describeField(z.boolean(), "the API server's store is older than what was seen of it"),
  objects: count("how many"),
  outcomes: describeField(z.record(ObjectReport.shape.outcome, z.int()), "objects by outcome"),
  unnamed: count("objects that the report does not name"),
  durations: describeField(
    Report.shape.durations,
    "milliseconds of the invocation, by what they were spent on",
  ),
  usage: describeField(
    z.object({ cloud: CloudUsage, cluster: ClusterUsage }),
    "requests to cloud and API server",
  ),
  index: count("the object's place in the event"),
  outcome: describeField(
    z.union([ObjectReport.shape.outcome, z.enum(["withheld", "missing", "forbidden", "failed"])]),
    "of the object, or of the renewal of the Lease",
  ),
  because: describeField(Reason, "why, by code and message"),
  afterSeconds: describeField(z.number().min(0), "the object is retried after so many"),
  resourceVersion: describeText("of the object, after the last write"),
  warnings: describeField(
    z.array(z.union([Reason, z.string()])),
    "what is worth knowing beside, by code and message",
  ),
  decision: describeField(z.unknown(), "of a dry run: what would have been written"),
  faults: describeField(z.array(z.unknown()), "what is wrong, by path and message"),
  doubts: describeField(z.array(z.unknown()), "what is most likely a mistake"),
  count: count("of doubts or orphans, those not named included, or of requests"),
  mode: describeField(
    z.enum(["lease", "audit", "full"]),
    "of a sweep: no list, one for what is overdue, or one for everything",
  ),
  lease: describeText("of a sweep: the state of the relay's Lease"),
  listed: count("objects seen in lists"),
  overdue: count("nodes and Services that a relay should have sent by then: the gap"),
  orphans: count("load balancers made for a Service that no longer exists; where they were looked for"),
  functions: describeField(z.array(z.string()), "the names of the functions that are served"),
  functionPrefix: describeText("of a sweep: the prefix of its deployment's function names"),
  invocations: count("of functions"),
  unreported: count("objects that should have been sent, and of which there is no report"),
  names: describeField(z.array(z.string()), "of clusters"),
  _aws: describeField(z.unknown(), "of functions: which facts CloudWatch is to make metrics of"),
  rounds: count("how often it was undone"),
  manager: describeText("the field manager that did it"),
  durationMs: count("how long it took"),
  leaseMs: count("how long it took to read the Lease"),
  invokedMs: count("how long the invocation took, with the way there and back"),
  retryInMs: count("when the relay retries"),
  url: describeText("where the process answers"),
  clusters: count("how many"),
  faulty: count("entries that cannot be used"),
  file: describeText("of clusters"),
  signal: describeText("that ends the process"),
  finished: describeField(z.boolean(), "before the time was up"),
  spans: count("of traces"),
});
export type LogLine = z.output<typeof LogLine>;

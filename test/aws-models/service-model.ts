import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** The services whose models are in use, as in the first part of an operation's name. */
export type ServiceName =
  | "acm"
  | "ec2"
  | "elb"
  | "elbv2"
  | "lambda"
  | "s3"
  | "secretsmanager"
  | "ssm"
  | "sts";

/** A shape of a service model: a type and its constraints. */
export interface Shape {
  readonly type:
    | "structure"
    | "list"
    | "map"
    | "string"
    | "integer"
    | "long"
    | "float"
    | "double"
    | "boolean"
    | "timestamp"
    | "blob";
  readonly members?: Readonly<Record<string, ShapeReference>>;
  readonly required?: readonly string[];
  readonly member?: ShapeReference;
  readonly key?: ShapeReference;
  readonly value?: ShapeReference;
  readonly enum?: readonly string[];
  /** Limits of a number, of a string's length, and of a list's size. */
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: string;
  readonly flattened?: boolean;
  /** The member that is the whole body of a REST request or answer. */
  readonly payload?: string;
  readonly union?: boolean;
  readonly eventstream?: boolean;
  readonly locationName?: string;
  readonly timestampFormat?: string;
  /** Only in shapes of errors. */
  readonly error?: { readonly code?: string };
}

/** A use of a shape by a member, a list or an operation. */
export interface ShapeReference {
  readonly shape: string;
  readonly locationName?: string;
  /** The name in EC2's requests, if it differs from `locationName`. */
  readonly queryName?: string;
  readonly location?: "uri" | "querystring" | "header" | "headers" | "statusCode";
  readonly flattened?: boolean;
  readonly xmlAttribute?: boolean;
  readonly idempotencyToken?: boolean;
  readonly timestampFormat?: string;
  /** The element around the result in answers of the query protocol. */
  readonly resultWrapper?: string;
}

/** An operation of a service model. */
export interface Operation {
  readonly name: string;
  readonly http: { readonly method: string; readonly requestUri: string; readonly responseCode?: number };
  readonly input?: ShapeReference;
  readonly output?: ShapeReference;
  readonly errors?: readonly ShapeReference[];
}

/** A service model of AWS in botocore's format. */
export interface ServiceModel {
  readonly metadata: {
    readonly protocol: "ec2" | "query" | "json" | "rest-json" | "rest-xml";
    readonly xmlNamespace?: string | { readonly uri: string };
  };
  readonly operations: Readonly<Record<string, Operation>>;
  readonly shapes: Readonly<Record<string, Shape>>;
}

/** The folder of each model below botocore's data. The version is also the API version of query requests. */
const FOLDERS: Readonly<Record<ServiceName, string>> = {
  acm: "acm/2015-12-08",
  ec2: "ec2/2016-11-15",
  elb: "elb/2012-06-01",
  elbv2: "elbv2/2015-12-01",
  lambda: "lambda/2015-03-31",
  s3: "s3/2006-03-01",
  secretsmanager: "secretsmanager/2017-10-17",
  ssm: "ssm/2014-11-06",
  sts: "sts/2011-06-15",
};

const MODELS = new Map<string, ServiceModel>();

/** Loads a model from botocore's data folder, once in a process: EC2's takes a tenth of a second. */
export function loadModel(dataFolder: string, service: ServiceName): ServiceModel {
  const file = join(dataFolder, FOLDERS[service], "service-2.json.gz");
  const known = MODELS.get(file);
  if (known !== undefined) return known;
  const model = JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as ServiceModel;
  MODELS.set(file, model);
  return model;
}

/** Returns a shape by its name. Throws if the model lacks it. */
export function getShape({ shapes }: ServiceModel, { shape: name }: ShapeReference): Shape {
  const shape = shapes[name];
  if (shape === undefined) throw new Error(`the service model has no shape ${name}`);
  return shape;
}

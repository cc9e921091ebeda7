"""An export of many memories, for the tour: `store.py COUNT`."""
import json, sys, random, datetime as d
n=int(sys.argv[1]); random.seed(7)
base=d.datetime(2026,11,22,9,0,0)
def t(x): return x.strftime('%Y-%m-%dT%H:%M:%S.%fZ')
A='abcdefghijklmnopqrstuvwxyz234567'
def mid(i):
    s='';x=(i*2654435761+12345)%(32**12)
    for _ in range(12): s=A[x%32]+s; x//=32
    return s
kinds=['decision','bugfix','architecture','pattern','config','discovery','learning','preference']
words='retry queue writer index lease socket daemon pump commit snapshot vector passage token cache lock migration session prompt merge graph edge recall stem batch'.split()
print(json.dumps({"kind":"header","format":"cerebro","version":1}))
ns=max(4,min(n//20,400))
prev=None
S=[]
for i in range(ns):
    st=base-d.timedelta(hours=6*(ns-i))
    S.append((f"sess-{i:04d}",st))
    print(json.dumps({"kind":"session","id":f"sess-{i:04d}","project":["acme/payments","acme/website","cerebro"][i%3],"agent":["claude-code","codex","gemini-cli"][i%3],"directory":"/src/x","started_at":t(st),"seen_at":t(st+d.timedelta(hours=1)),"ended_at":t(st+d.timedelta(minutes=30+i%60)),"end_reason":"ended","summary":f"## Goal\n- Mend the {words[i%len(words)]} of the {words[(i*7)%len(words)]}\n\n## Accomplished\n- it holds\n","follows":(f"sess-{i-3:04d}" if i>=3 else None)}))
edges=[]
for i in range(n):
    sid,st=S[i*ns//n]
    at=st+d.timedelta(seconds=(i%20)*60,microseconds=i%1000)
    w=random.sample(words,4)
    title=f"The {w[0]} {w[1]} waits for the {w[2]}" if i%37 else "日本語の題名 and émoji 🦀 together"
    c=f"What: the **{w[0]}** no longer loses a `{w[1]}_{i}`.\nWhy: two writers met at the {w[3]}.\nWhere: src/{w[2]}/mod.rs\n\n## Learned\n- read before write\n- *measure* first\n\n```rust\nlet {w[0]} = {w[1]}.take();\n```\n"
    print(json.dumps({"kind":"memory","id":mid(i),"project":["acme/payments","acme/website","cerebro"][(i*ns//n)%3],"scope":"project","type":kinds[i%len(kinds)],"title":title,"content":c,"tags":["a"],"agent":"claude-code","session":sid,"revision":1,"duplicate_count":0,"pinned":i%91==0,"purged":False,"created_at":t(at),"updated_at":t(at),"last_seen_at":t(at)}))
    edges.append((mid(i),sid,t(at)))
for a,b,x in sorted(edges): print(json.dumps({"kind":"edge","name":"CREATED_IN","from":a,"to":b,"at":x}))
for i in range(3,ns): print(json.dumps({"kind":"edge","name":"FOLLOWS","from":f"sess-{i:04d}","to":f"sess-{i-3:04d}","at":t(S[i][1])}))

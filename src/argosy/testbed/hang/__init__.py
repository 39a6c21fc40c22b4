"""Silent hangs: nobody dies, nobody says anything, and the job stands still. Heartbeats notice, flight recorders tell who.

`plan` says which rank hangs how and when, `watch` notices it from the ranks' beats, `predict` asks the law of heartbeats,
`experiment` has `argosy diagnose`'s own code read what the ranks' recorders kept. `rank` is what runs, with torch.
"""
